//! The functions of `wasi:sockets`.

/// Exports `wasi:sockets`.
#[macro_export]
macro_rules! network_exports {
    () => {
        ::sing_sdk::exports! {
            "wasi:sockets/instance-network#instance-network" fn p2_sockets_instance_network_instance_network() -> u32 {
                $crate::component::running::call("wasi:sockets/instance-network#instance-network", |component| component.network())
            }
            "wasi:sockets/ip-name-lookup#[method]resolve-address-stream.resolve-next-address" fn p2_sockets_ip_name_lookup_resolve_address_stream_resolve_next_address(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/ip-name-lookup#[method]resolve-address-stream.resolve-next-address", |component| component.of_socket())
            }
            "wasi:sockets/ip-name-lookup#[method]resolve-address-stream.subscribe" fn p2_sockets_ip_name_lookup_resolve_address_stream_subscribe(_a: u32) -> u32 {
                $crate::component::running::call("wasi:sockets/ip-name-lookup#[method]resolve-address-stream.subscribe", |component| component.of_socket())
            }
            "wasi:sockets/ip-name-lookup#resolve-addresses" fn p2_sockets_ip_name_lookup_resolve_addresses(_a: u32, _b: u32, _c: u32, d: u32) {
                $crate::component::running::call("wasi:sockets/ip-name-lookup#resolve-addresses", |component| component.no_address(d))
            }
            "wasi:sockets/tcp#[method]tcp-socket.start-bind" fn p2_sockets_tcp_tcp_socket_start_bind(_a: u32, _b: u32, _c: u32, _d: u32, _e: u32, _f: u32, _g: u32, _h: u32, _i: u32, _j: u32, _k: u32, _l: u32, _m: u32, _n: u32, _o: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.start-bind", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.finish-bind" fn p2_sockets_tcp_tcp_socket_finish_bind(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.finish-bind", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.start-connect" fn p2_sockets_tcp_tcp_socket_start_connect(_a: u32, _b: u32, _c: u32, _d: u32, _e: u32, _f: u32, _g: u32, _h: u32, _i: u32, _j: u32, _k: u32, _l: u32, _m: u32, _n: u32, _o: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.start-connect", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.finish-connect" fn p2_sockets_tcp_tcp_socket_finish_connect(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.finish-connect", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.start-listen" fn p2_sockets_tcp_tcp_socket_start_listen(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.start-listen", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.finish-listen" fn p2_sockets_tcp_tcp_socket_finish_listen(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.finish-listen", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.accept" fn p2_sockets_tcp_tcp_socket_accept(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.accept", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.local-address" fn p2_sockets_tcp_tcp_socket_local_address(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.local-address", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.remote-address" fn p2_sockets_tcp_tcp_socket_remote_address(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.remote-address", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.is-listening" fn p2_sockets_tcp_tcp_socket_is_listening(_a: u32) -> u32 {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.is-listening", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.address-family" fn p2_sockets_tcp_tcp_socket_address_family(_a: u32) -> u32 {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.address-family", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.set-listen-backlog-size" fn p2_sockets_tcp_tcp_socket_set_listen_backlog_size(_a: u32, _b: u64, _c: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.set-listen-backlog-size", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.keep-alive-enabled" fn p2_sockets_tcp_tcp_socket_keep_alive_enabled(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.keep-alive-enabled", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.set-keep-alive-enabled" fn p2_sockets_tcp_tcp_socket_set_keep_alive_enabled(_a: u32, _b: u32, _c: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.set-keep-alive-enabled", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.keep-alive-idle-time" fn p2_sockets_tcp_tcp_socket_keep_alive_idle_time(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.keep-alive-idle-time", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.set-keep-alive-idle-time" fn p2_sockets_tcp_tcp_socket_set_keep_alive_idle_time(_a: u32, _b: u64, _c: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.set-keep-alive-idle-time", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.keep-alive-interval" fn p2_sockets_tcp_tcp_socket_keep_alive_interval(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.keep-alive-interval", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.set-keep-alive-interval" fn p2_sockets_tcp_tcp_socket_set_keep_alive_interval(_a: u32, _b: u64, _c: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.set-keep-alive-interval", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.keep-alive-count" fn p2_sockets_tcp_tcp_socket_keep_alive_count(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.keep-alive-count", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.set-keep-alive-count" fn p2_sockets_tcp_tcp_socket_set_keep_alive_count(_a: u32, _b: u32, _c: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.set-keep-alive-count", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.hop-limit" fn p2_sockets_tcp_tcp_socket_hop_limit(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.hop-limit", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.set-hop-limit" fn p2_sockets_tcp_tcp_socket_set_hop_limit(_a: u32, _b: u32, _c: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.set-hop-limit", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.receive-buffer-size" fn p2_sockets_tcp_tcp_socket_receive_buffer_size(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.receive-buffer-size", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.set-receive-buffer-size" fn p2_sockets_tcp_tcp_socket_set_receive_buffer_size(_a: u32, _b: u64, _c: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.set-receive-buffer-size", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.send-buffer-size" fn p2_sockets_tcp_tcp_socket_send_buffer_size(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.send-buffer-size", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.set-send-buffer-size" fn p2_sockets_tcp_tcp_socket_set_send_buffer_size(_a: u32, _b: u64, _c: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.set-send-buffer-size", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.subscribe" fn p2_sockets_tcp_tcp_socket_subscribe(_a: u32) -> u32 {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.subscribe", |component| component.of_socket())
            }
            "wasi:sockets/tcp#[method]tcp-socket.shutdown" fn p2_sockets_tcp_tcp_socket_shutdown(_a: u32, _b: u32, _c: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.shutdown", |component| component.of_socket())
            }
            "wasi:sockets/tcp-create-socket#create-tcp-socket" fn p2_sockets_tcp_create_socket_create_tcp_socket(_a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/tcp-create-socket#create-tcp-socket", |component| component.no_socket(b))
            }
            "wasi:sockets/udp#[method]udp-socket.start-bind" fn p2_sockets_udp_udp_socket_start_bind(_a: u32, _b: u32, _c: u32, _d: u32, _e: u32, _f: u32, _g: u32, _h: u32, _i: u32, _j: u32, _k: u32, _l: u32, _m: u32, _n: u32, _o: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.start-bind", |component| component.of_socket())
            }
            "wasi:sockets/udp#[method]udp-socket.finish-bind" fn p2_sockets_udp_udp_socket_finish_bind(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.finish-bind", |component| component.of_socket())
            }
            "wasi:sockets/udp#[method]udp-socket.stream" fn p2_sockets_udp_udp_socket_stream(_a: u32, _b: u32, _c: u32, _d: u32, _e: u32, _f: u32, _g: u32, _h: u32, _i: u32, _j: u32, _k: u32, _l: u32, _m: u32, _n: u32, _o: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.stream", |component| component.of_socket())
            }
            "wasi:sockets/udp#[method]udp-socket.local-address" fn p2_sockets_udp_udp_socket_local_address(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.local-address", |component| component.of_socket())
            }
            "wasi:sockets/udp#[method]udp-socket.remote-address" fn p2_sockets_udp_udp_socket_remote_address(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.remote-address", |component| component.of_socket())
            }
            "wasi:sockets/udp#[method]udp-socket.address-family" fn p2_sockets_udp_udp_socket_address_family(_a: u32) -> u32 {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.address-family", |component| component.of_socket())
            }
            "wasi:sockets/udp#[method]udp-socket.unicast-hop-limit" fn p2_sockets_udp_udp_socket_unicast_hop_limit(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.unicast-hop-limit", |component| component.of_socket())
            }
            "wasi:sockets/udp#[method]udp-socket.set-unicast-hop-limit" fn p2_sockets_udp_udp_socket_set_unicast_hop_limit(_a: u32, _b: u32, _c: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.set-unicast-hop-limit", |component| component.of_socket())
            }
            "wasi:sockets/udp#[method]udp-socket.receive-buffer-size" fn p2_sockets_udp_udp_socket_receive_buffer_size(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.receive-buffer-size", |component| component.of_socket())
            }
            "wasi:sockets/udp#[method]udp-socket.set-receive-buffer-size" fn p2_sockets_udp_udp_socket_set_receive_buffer_size(_a: u32, _b: u64, _c: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.set-receive-buffer-size", |component| component.of_socket())
            }
            "wasi:sockets/udp#[method]udp-socket.send-buffer-size" fn p2_sockets_udp_udp_socket_send_buffer_size(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.send-buffer-size", |component| component.of_socket())
            }
            "wasi:sockets/udp#[method]udp-socket.set-send-buffer-size" fn p2_sockets_udp_udp_socket_set_send_buffer_size(_a: u32, _b: u64, _c: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.set-send-buffer-size", |component| component.of_socket())
            }
            "wasi:sockets/udp#[method]udp-socket.subscribe" fn p2_sockets_udp_udp_socket_subscribe(_a: u32) -> u32 {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.subscribe", |component| component.of_socket())
            }
            "wasi:sockets/udp#[method]incoming-datagram-stream.receive" fn p2_sockets_udp_incoming_datagram_stream_receive(_a: u32, _b: u64, _c: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]incoming-datagram-stream.receive", |component| component.of_socket())
            }
            "wasi:sockets/udp#[method]incoming-datagram-stream.subscribe" fn p2_sockets_udp_incoming_datagram_stream_subscribe(_a: u32) -> u32 {
                $crate::component::running::call("wasi:sockets/udp#[method]incoming-datagram-stream.subscribe", |component| component.of_socket())
            }
            "wasi:sockets/udp#[method]outgoing-datagram-stream.check-send" fn p2_sockets_udp_outgoing_datagram_stream_check_send(_a: u32, _b: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]outgoing-datagram-stream.check-send", |component| component.of_socket())
            }
            "wasi:sockets/udp#[method]outgoing-datagram-stream.send" fn p2_sockets_udp_outgoing_datagram_stream_send(_a: u32, _b: u32, _c: u32, _d: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]outgoing-datagram-stream.send", |component| component.of_socket())
            }
            "wasi:sockets/udp#[method]outgoing-datagram-stream.subscribe" fn p2_sockets_udp_outgoing_datagram_stream_subscribe(_a: u32) -> u32 {
                $crate::component::running::call("wasi:sockets/udp#[method]outgoing-datagram-stream.subscribe", |component| component.of_socket())
            }
            "wasi:sockets/udp-create-socket#create-udp-socket" fn p2_sockets_udp_create_socket_create_udp_socket(_a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/udp-create-socket#create-udp-socket", |component| component.no_socket(b))
            }
        }
    };
}
