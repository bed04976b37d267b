//! The manifest of a merged module: the adapter's, with the program's name and budget.

use crate::{Error, Options};
use serde_json::Value;

/// Returns the manifest with what the options put in place of the adapter's.
pub(crate) fn of(adapter: &[u8], options: &Options<'_>) -> Result<Vec<u8>, Error> {
    if options.name.is_none() && options.memory.is_none() {
        return Ok(adapter.to_vec());
    }
    let fail = |why: String| Error::new(format!("its manifest {why}")).in_adapter();
    let manifest = serde_json::from_slice(adapter);
    let mut manifest: Value = manifest.map_err(|e| fail(format!("does not read: {e}")))?;
    let fields = manifest.as_object_mut();
    let fields = fields.ok_or_else(|| fail("is no JSON object".into()))?;
    if let Some(name) = options.name {
        fields.insert("name".into(), name.into());
    }
    if let Some(memory) = options.memory {
        fields.insert("memory".into(), memory.into());
    }
    Ok(manifest.to_string().into_bytes())
}
