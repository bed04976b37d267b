//! `devices:` in `manifest!`: which devices a driver expects, and what it uses of them.

use crate::names;
use proc_macro2::TokenStream;
use quote::quote;
use sing_image::manifest::DeviceUse;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Error, Ident, LitInt, LitStr, Token, braced, bracketed};

/// `{ name: [optional] ["signature", …] { registers: [0, …], interrupt, queues: 1, dma: 4 MiB },
/// … }`
pub(crate) fn parse(input: ParseStream<'_>) -> syn::Result<Vec<DeviceUse>> {
    let list;
    braced!(list in input);
    let mut all: Vec<DeviceUse> = Vec::new();
    while !list.is_empty() {
        let name = list.parse::<Ident>()?.unraw();
        if all.iter().any(|d| name == d.name) {
            let text = format!("device `{name}` is declared twice");
            return Err(Error::new(name.span(), text));
        }
        list.parse::<Token![:]>()?;
        let mut device = DeviceUse {
            name: name.to_string(),
            ..DeviceUse::default()
        };
        if list.cursor().ident().is_some_and(|(i, _)| i == "optional") {
            list.parse::<Ident>()?;
            device.optional = true;
        }
        let signatures;
        bracketed!(signatures in list);
        while !signatures.is_empty() {
            let text: LitStr = signatures.parse()?;
            if !text.value().starts_with('/') {
                let message =
                    "a signature is a path, like \"/virtio/2\" or \"/pci/01/00/1af4/1042\"";
                return Err(Error::new(text.span(), message));
            }
            device.signatures.push(text.value());
            if !signatures.is_empty() {
                signatures.parse::<Token![,]>()?;
            }
        }
        if device.signatures.is_empty() {
            return Err(Error::new(
                name.span(),
                "a device has at least one signature",
            ));
        }
        uses(&list, &mut device)?;
        all.push(device);
        if !list.is_empty() {
            list.parse::<Token![,]>()?;
        }
    }
    Ok(all)
}

/// `{ registers: [0, …], interrupt, queues: 1, dma: 4 MiB }`
fn uses(input: ParseStream<'_>, device: &mut DeviceUse) -> syn::Result<()> {
    let list;
    braced!(list in input);
    while !list.is_empty() {
        let key: Ident = list.parse()?;
        match key.to_string().as_str() {
            "interrupt" => device.interrupt = true,
            "queues" => {
                list.parse::<Token![:]>()?;
                device.queues = list.parse::<LitInt>()?.base10_parse()?;
            }
            "dma" => {
                list.parse::<Token![:]>()?;
                device.dma = crate::manifest::size(&list)?;
            }
            "registers" => {
                list.parse::<Token![:]>()?;
                let numbers;
                bracketed!(numbers in list);
                while !numbers.is_empty() {
                    device
                        .registers
                        .push(numbers.parse::<LitInt>()?.base10_parse()?);
                    if !numbers.is_empty() {
                        numbers.parse::<Token![,]>()?;
                    }
                }
            }
            _ => {
                let text = format!(
                    "nothing is used of a device that is called `{key}`; there are `registers: [0]`, \
                     `interrupt`, `queues: 1` and `dma: 1 MiB`"
                );
                return Err(Error::new(key.span(), text));
            }
        }
        if !list.is_empty() {
            list.parse::<Token![,]>()?;
        }
    }
    Ok(())
}

/// The function by which the program takes a device.
pub(crate) fn accessor((index, device): (usize, &DeviceUse)) -> TokenStream {
    let name = names::ident(&device.name);
    let index = index as u32;
    let summary = format!("Device `{}`.", device.name);
    quote! {
        #[doc = #summary]
        ///
        /// `None` if none was given, or it has been taken.
        #[must_use]
        pub fn #name() -> ::core::option::Option<::sing_sdk::device::Device> {
            ::sing_sdk::rt::startup_device(#index)
        }
    }
}
