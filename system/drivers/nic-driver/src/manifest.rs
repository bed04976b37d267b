//! The manifest of a driver of network cards.

/// Declares the manifest: what the drivers differ in is given, what the server ([`crate::Server`])
/// does on the driver's channels stands here.
#[macro_export]
macro_rules! manifest {
    (name: $name:tt, description: $description:tt, devices: $devices:tt $(,)?) => {
        sing_sdk::manifest! {
            name: $name,
            description: $description,
            category: driver,
            serves: { nic: NicContract },
            endpoints: { stderr: optional PipeContract.Imp:Start },
            devices: $devices,
            memory: 48 MiB,
            behavior: "
                // Without a device that works, it ends at once.
                state Start: ( nic.Success! -> Serving or stderr.Write! -> end or skip -> end );
                // Frames are none of the channels' of names.
                state Serving: one {
                  nic.Bind? -> ( nic.AckBind! or nic.NakBind! ) -> Serving;
                  nic.Find? -> ( nic.AckFind! or nic.NakFind! ) -> Serving;
                  nic.Notify? -> nic.NakNotify! -> Serving;
                  nic.Register? -> nic.NakRegister! -> Serving;
                  nic.Deregister? -> nic.NakDeregister! -> Serving;
                  nic.Link? -> nic.NakLink! -> Serving;
                  nic.ReadLink? -> ( nic.AckReadLink! or nic.NakReadLink! ) -> Serving;
                  nic.ChannelClosed? -> end;
                  skip -> end;
                }
            ",
        }
    };
}
