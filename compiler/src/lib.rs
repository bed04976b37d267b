//! Verifier and compiler: from WebAssembly to installed images.
