//! The functions of `wasi:sockets`.

/// Exports `wasi:sockets`.
#[macro_export]
macro_rules! network_exports {
    () => {
        ::sing_sdk::exports! {
            "wasi:sockets/instance-network#instance-network" fn p2_sockets_instance_network_instance_network() -> u32 {
                $crate::component::running::call("wasi:sockets/instance-network#instance-network", |component| component.network())
            }
            "wasi:sockets/ip-name-lookup#[method]resolve-address-stream.resolve-next-address" fn p2_sockets_ip_name_lookup_resolve_address_stream_resolve_next_address(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/ip-name-lookup#[method]resolve-address-stream.resolve-next-address", |component| component.next_address(a, b))
            }
            "wasi:sockets/ip-name-lookup#[method]resolve-address-stream.subscribe" fn p2_sockets_ip_name_lookup_resolve_address_stream_subscribe(a: u32) -> u32 {
                $crate::component::running::call("wasi:sockets/ip-name-lookup#[method]resolve-address-stream.subscribe", |component| component.subscribe_lookup(a))
            }
            "wasi:sockets/ip-name-lookup#resolve-addresses" fn p2_sockets_ip_name_lookup_resolve_addresses(a: u32, b: u32, c: u32, d: u32) {
                $crate::component::running::call("wasi:sockets/ip-name-lookup#resolve-addresses", |component| component.resolve(a, b, c, d))
            }
            "wasi:sockets/tcp#[method]tcp-socket.start-bind" fn p2_sockets_tcp_tcp_socket_start_bind(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32, g: u32, h: u32, i: u32, j: u32, k: u32, l: u32, m: u32, n: u32, o: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.start-bind", |component| component.tcp_start_bind(a, b, [c, d, e, f, g, h, i, j, k, l, m, n], o))
            }
            "wasi:sockets/tcp#[method]tcp-socket.finish-bind" fn p2_sockets_tcp_tcp_socket_finish_bind(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.finish-bind", |component| component.tcp_finish_bind(a, b))
            }
            "wasi:sockets/tcp#[method]tcp-socket.start-connect" fn p2_sockets_tcp_tcp_socket_start_connect(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32, g: u32, h: u32, i: u32, j: u32, k: u32, l: u32, m: u32, n: u32, o: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.start-connect", |component| component.tcp_start_connect(a, b, [c, d, e, f, g, h, i, j, k, l, m, n], o))
            }
            "wasi:sockets/tcp#[method]tcp-socket.finish-connect" fn p2_sockets_tcp_tcp_socket_finish_connect(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.finish-connect", |component| component.tcp_finish_connect(a, b))
            }
            "wasi:sockets/tcp#[method]tcp-socket.start-listen" fn p2_sockets_tcp_tcp_socket_start_listen(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.start-listen", |component| component.tcp_start_listen(a, b))
            }
            "wasi:sockets/tcp#[method]tcp-socket.finish-listen" fn p2_sockets_tcp_tcp_socket_finish_listen(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.finish-listen", |component| component.tcp_finish_listen(a, b))
            }
            "wasi:sockets/tcp#[method]tcp-socket.accept" fn p2_sockets_tcp_tcp_socket_accept(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.accept", |component| component.tcp_accept(a, b))
            }
            "wasi:sockets/tcp#[method]tcp-socket.local-address" fn p2_sockets_tcp_tcp_socket_local_address(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.local-address", |component| component.tcp_local(a, b))
            }
            "wasi:sockets/tcp#[method]tcp-socket.remote-address" fn p2_sockets_tcp_tcp_socket_remote_address(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.remote-address", |component| component.tcp_remote(a, b))
            }
            "wasi:sockets/tcp#[method]tcp-socket.is-listening" fn p2_sockets_tcp_tcp_socket_is_listening(a: u32) -> u32 {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.is-listening", |component| component.tcp_listens(a))
            }
            "wasi:sockets/tcp#[method]tcp-socket.address-family" fn p2_sockets_tcp_tcp_socket_address_family(a: u32) -> u32 {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.address-family", |component| component.tcp_family(a))
            }
            "wasi:sockets/tcp#[method]tcp-socket.set-listen-backlog-size" fn p2_sockets_tcp_tcp_socket_set_listen_backlog_size(a: u32, b: u64, c: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.set-listen-backlog-size", |component| component.tcp_set_backlog(a, b, c))
            }
            "wasi:sockets/tcp#[method]tcp-socket.keep-alive-enabled" fn p2_sockets_tcp_tcp_socket_keep_alive_enabled(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.keep-alive-enabled", |component| component.tcp_keep_alive(a, b))
            }
            "wasi:sockets/tcp#[method]tcp-socket.set-keep-alive-enabled" fn p2_sockets_tcp_tcp_socket_set_keep_alive_enabled(a: u32, b: u32, c: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.set-keep-alive-enabled", |component| component.tcp_set_keep_alive(a, b, c))
            }
            "wasi:sockets/tcp#[method]tcp-socket.keep-alive-idle-time" fn p2_sockets_tcp_tcp_socket_keep_alive_idle_time(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.keep-alive-idle-time", |component| component.tcp_idle(a, b))
            }
            "wasi:sockets/tcp#[method]tcp-socket.set-keep-alive-idle-time" fn p2_sockets_tcp_tcp_socket_set_keep_alive_idle_time(a: u32, b: u64, c: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.set-keep-alive-idle-time", |component| component.tcp_set_idle(a, b, c))
            }
            "wasi:sockets/tcp#[method]tcp-socket.keep-alive-interval" fn p2_sockets_tcp_tcp_socket_keep_alive_interval(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.keep-alive-interval", |component| component.tcp_interval(a, b))
            }
            "wasi:sockets/tcp#[method]tcp-socket.set-keep-alive-interval" fn p2_sockets_tcp_tcp_socket_set_keep_alive_interval(a: u32, b: u64, c: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.set-keep-alive-interval", |component| component.tcp_set_interval(a, b, c))
            }
            "wasi:sockets/tcp#[method]tcp-socket.keep-alive-count" fn p2_sockets_tcp_tcp_socket_keep_alive_count(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.keep-alive-count", |component| component.tcp_probes(a, b))
            }
            "wasi:sockets/tcp#[method]tcp-socket.set-keep-alive-count" fn p2_sockets_tcp_tcp_socket_set_keep_alive_count(a: u32, b: u32, c: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.set-keep-alive-count", |component| component.tcp_set_probes(a, b, c))
            }
            "wasi:sockets/tcp#[method]tcp-socket.hop-limit" fn p2_sockets_tcp_tcp_socket_hop_limit(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.hop-limit", |component| component.tcp_hops(a, b))
            }
            "wasi:sockets/tcp#[method]tcp-socket.set-hop-limit" fn p2_sockets_tcp_tcp_socket_set_hop_limit(a: u32, b: u32, c: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.set-hop-limit", |component| component.tcp_set_hops(a, b, c))
            }
            "wasi:sockets/tcp#[method]tcp-socket.receive-buffer-size" fn p2_sockets_tcp_tcp_socket_receive_buffer_size(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.receive-buffer-size", |component| component.tcp_buffer(a, b))
            }
            "wasi:sockets/tcp#[method]tcp-socket.set-receive-buffer-size" fn p2_sockets_tcp_tcp_socket_set_receive_buffer_size(a: u32, b: u64, c: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.set-receive-buffer-size", |component| component.tcp_set_buffer(a, b, c))
            }
            "wasi:sockets/tcp#[method]tcp-socket.send-buffer-size" fn p2_sockets_tcp_tcp_socket_send_buffer_size(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.send-buffer-size", |component| component.tcp_buffer(a, b))
            }
            "wasi:sockets/tcp#[method]tcp-socket.set-send-buffer-size" fn p2_sockets_tcp_tcp_socket_set_send_buffer_size(a: u32, b: u64, c: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.set-send-buffer-size", |component| component.tcp_set_buffer(a, b, c))
            }
            "wasi:sockets/tcp#[method]tcp-socket.subscribe" fn p2_sockets_tcp_tcp_socket_subscribe(a: u32) -> u32 {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.subscribe", |component| component.tcp_subscribe(a))
            }
            "wasi:sockets/tcp#[method]tcp-socket.shutdown" fn p2_sockets_tcp_tcp_socket_shutdown(a: u32, b: u32, c: u32) {
                $crate::component::running::call("wasi:sockets/tcp#[method]tcp-socket.shutdown", |component| component.tcp_shut_down(a, b, c))
            }
            "wasi:sockets/tcp-create-socket#create-tcp-socket" fn p2_sockets_tcp_create_socket_create_tcp_socket(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/tcp-create-socket#create-tcp-socket", |component| component.create_tcp(a, b))
            }
            "wasi:sockets/udp#[method]udp-socket.start-bind" fn p2_sockets_udp_udp_socket_start_bind(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32, g: u32, h: u32, i: u32, j: u32, k: u32, l: u32, m: u32, n: u32, o: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.start-bind", |component| component.udp_start_bind(a, b, [c, d, e, f, g, h, i, j, k, l, m, n], o))
            }
            "wasi:sockets/udp#[method]udp-socket.finish-bind" fn p2_sockets_udp_udp_socket_finish_bind(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.finish-bind", |component| component.udp_finish_bind(a, b))
            }
            "wasi:sockets/udp#[method]udp-socket.stream" fn p2_sockets_udp_udp_socket_stream(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32, g: u32, h: u32, i: u32, j: u32, k: u32, l: u32, m: u32, n: u32, o: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.stream", |component| component.udp_stream(a, b, [c, d, e, f, g, h, i, j, k, l, m, n], o))
            }
            "wasi:sockets/udp#[method]udp-socket.local-address" fn p2_sockets_udp_udp_socket_local_address(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.local-address", |component| component.udp_local(a, b))
            }
            "wasi:sockets/udp#[method]udp-socket.remote-address" fn p2_sockets_udp_udp_socket_remote_address(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.remote-address", |component| component.udp_remote(a, b))
            }
            "wasi:sockets/udp#[method]udp-socket.address-family" fn p2_sockets_udp_udp_socket_address_family(a: u32) -> u32 {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.address-family", |component| component.udp_family(a))
            }
            "wasi:sockets/udp#[method]udp-socket.unicast-hop-limit" fn p2_sockets_udp_udp_socket_unicast_hop_limit(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.unicast-hop-limit", |component| component.udp_hops(a, b))
            }
            "wasi:sockets/udp#[method]udp-socket.set-unicast-hop-limit" fn p2_sockets_udp_udp_socket_set_unicast_hop_limit(a: u32, b: u32, c: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.set-unicast-hop-limit", |component| component.udp_set_hops(a, b, c))
            }
            "wasi:sockets/udp#[method]udp-socket.receive-buffer-size" fn p2_sockets_udp_udp_socket_receive_buffer_size(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.receive-buffer-size", |component| component.udp_buffer(a, b))
            }
            "wasi:sockets/udp#[method]udp-socket.set-receive-buffer-size" fn p2_sockets_udp_udp_socket_set_receive_buffer_size(a: u32, b: u64, c: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.set-receive-buffer-size", |component| component.udp_set_buffer(a, b, c))
            }
            "wasi:sockets/udp#[method]udp-socket.send-buffer-size" fn p2_sockets_udp_udp_socket_send_buffer_size(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.send-buffer-size", |component| component.udp_buffer(a, b))
            }
            "wasi:sockets/udp#[method]udp-socket.set-send-buffer-size" fn p2_sockets_udp_udp_socket_set_send_buffer_size(a: u32, b: u64, c: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.set-send-buffer-size", |component| component.udp_set_buffer(a, b, c))
            }
            "wasi:sockets/udp#[method]udp-socket.subscribe" fn p2_sockets_udp_udp_socket_subscribe(a: u32) -> u32 {
                $crate::component::running::call("wasi:sockets/udp#[method]udp-socket.subscribe", |component| component.udp_subscribe(a))
            }
            "wasi:sockets/udp#[method]incoming-datagram-stream.receive" fn p2_sockets_udp_incoming_datagram_stream_receive(a: u32, b: u64, c: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]incoming-datagram-stream.receive", |component| component.udp_receive(a, b, c))
            }
            "wasi:sockets/udp#[method]incoming-datagram-stream.subscribe" fn p2_sockets_udp_incoming_datagram_stream_subscribe(a: u32) -> u32 {
                $crate::component::running::call("wasi:sockets/udp#[method]incoming-datagram-stream.subscribe", |component| component.udp_subscribe_incoming(a))
            }
            "wasi:sockets/udp#[method]outgoing-datagram-stream.check-send" fn p2_sockets_udp_outgoing_datagram_stream_check_send(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]outgoing-datagram-stream.check-send", |component| component.udp_check_send(a, b))
            }
            "wasi:sockets/udp#[method]outgoing-datagram-stream.send" fn p2_sockets_udp_outgoing_datagram_stream_send(a: u32, b: u32, c: u32, d: u32) {
                $crate::component::running::call("wasi:sockets/udp#[method]outgoing-datagram-stream.send", |component| component.udp_send(a, b, c, d))
            }
            "wasi:sockets/udp#[method]outgoing-datagram-stream.subscribe" fn p2_sockets_udp_outgoing_datagram_stream_subscribe(a: u32) -> u32 {
                $crate::component::running::call("wasi:sockets/udp#[method]outgoing-datagram-stream.subscribe", |component| component.udp_subscribe_outgoing(a))
            }
            "wasi:sockets/udp-create-socket#create-udp-socket" fn p2_sockets_udp_create_socket_create_udp_socket(a: u32, b: u32) {
                $crate::component::running::call("wasi:sockets/udp-create-socket#create-udp-socket", |component| component.create_udp(a, b))
            }
        }
    };
}
