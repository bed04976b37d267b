//! The functions of `wasi:http`.

/// Exports `wasi:http`.
#[macro_export]
macro_rules! http_exports {
    () => {
        ::sing_sdk::exports! {
            "wasi:http/types#[constructor]fields" fn p2_http_types_new_fields() -> u32 {
                $crate::component::running::call("wasi:http/types#[constructor]fields", |component| component.new_fields())
            }
            "wasi:http/types#[static]fields.from-list" fn p2_http_types_fields_from_list(a: u32, b: u32, c: u32) {
                $crate::component::running::call("wasi:http/types#[static]fields.from-list", |component| component.fields_of_list(a, b, c))
            }
            "wasi:http/types#[method]fields.get" fn p2_http_types_fields_get(a: u32, b: u32, c: u32, d: u32) {
                $crate::component::running::call("wasi:http/types#[method]fields.get", |component| component.fields_get(a, (b, c), d))
            }
            "wasi:http/types#[method]fields.has" fn p2_http_types_fields_has(a: u32, b: u32, c: u32) -> u32 {
                $crate::component::running::call("wasi:http/types#[method]fields.has", |component| component.fields_has(a, b, c))
            }
            "wasi:http/types#[method]fields.set" fn p2_http_types_fields_set(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32) {
                $crate::component::running::call("wasi:http/types#[method]fields.set", |component| component.fields_set(a, (b, c), (d, e), f))
            }
            "wasi:http/types#[method]fields.delete" fn p2_http_types_fields_delete(a: u32, b: u32, c: u32, d: u32) {
                $crate::component::running::call("wasi:http/types#[method]fields.delete", |component| component.fields_delete(a, (b, c), d))
            }
            "wasi:http/types#[method]fields.append" fn p2_http_types_fields_append(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32) {
                $crate::component::running::call("wasi:http/types#[method]fields.append", |component| component.fields_append(a, (b, c), (d, e), f))
            }
            "wasi:http/types#[method]fields.entries" fn p2_http_types_fields_entries(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]fields.entries", |component| component.fields_entries(a, b))
            }
            "wasi:http/types#[method]fields.clone" fn p2_http_types_fields_clone(a: u32) -> u32 {
                $crate::component::running::call("wasi:http/types#[method]fields.clone", |component| component.fields_clone(a))
            }
            "wasi:http/types#[method]incoming-request.method" fn p2_http_types_incoming_request_method(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]incoming-request.method", |component| component.request_method(a, b))
            }
            "wasi:http/types#[method]incoming-request.path-with-query" fn p2_http_types_incoming_request_path_with_query(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]incoming-request.path-with-query", |component| component.request_path(a, b))
            }
            "wasi:http/types#[method]incoming-request.scheme" fn p2_http_types_incoming_request_scheme(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]incoming-request.scheme", |component| component.request_scheme(a, b))
            }
            "wasi:http/types#[method]incoming-request.authority" fn p2_http_types_incoming_request_authority(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]incoming-request.authority", |component| component.request_authority(a, b))
            }
            "wasi:http/types#[method]incoming-request.headers" fn p2_http_types_incoming_request_headers(a: u32) -> u32 {
                $crate::component::running::call("wasi:http/types#[method]incoming-request.headers", |component| component.request_fields(a))
            }
            "wasi:http/types#[method]incoming-request.consume" fn p2_http_types_incoming_request_consume(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]incoming-request.consume", |component| component.request_body(a, b))
            }
            "wasi:http/types#[constructor]outgoing-request" fn p2_http_types_new_outgoing_request(a: u32) -> u32 {
                $crate::component::running::call("wasi:http/types#[constructor]outgoing-request", |component| component.new_request(a))
            }
            "wasi:http/types#[method]outgoing-request.body" fn p2_http_types_outgoing_request_body(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]outgoing-request.body", |component| component.outgoing_body(a, b))
            }
            "wasi:http/types#[method]outgoing-request.method" fn p2_http_types_outgoing_request_method(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]outgoing-request.method", |component| component.outgoing_method(a, b))
            }
            "wasi:http/types#[method]outgoing-request.set-method" fn p2_http_types_outgoing_request_set_method(a: u32, b: u32, c: u32, d: u32) -> u32 {
                $crate::component::running::call("wasi:http/types#[method]outgoing-request.set-method", |component| component.outgoing_set_method(a, b, c, d))
            }
            "wasi:http/types#[method]outgoing-request.path-with-query" fn p2_http_types_outgoing_request_path_with_query(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]outgoing-request.path-with-query", |component| component.outgoing_path(a, b))
            }
            "wasi:http/types#[method]outgoing-request.set-path-with-query" fn p2_http_types_outgoing_request_set_path_with_query(a: u32, b: u32, c: u32, d: u32) -> u32 {
                $crate::component::running::call("wasi:http/types#[method]outgoing-request.set-path-with-query", |component| component.outgoing_set_path(a, b, c, d))
            }
            "wasi:http/types#[method]outgoing-request.scheme" fn p2_http_types_outgoing_request_scheme(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]outgoing-request.scheme", |component| component.outgoing_scheme(a, b))
            }
            "wasi:http/types#[method]outgoing-request.set-scheme" fn p2_http_types_outgoing_request_set_scheme(a: u32, b: u32, c: u32, d: u32, e: u32) -> u32 {
                $crate::component::running::call("wasi:http/types#[method]outgoing-request.set-scheme", |component| component.outgoing_set_scheme(a, (b, c), d, e))
            }
            "wasi:http/types#[method]outgoing-request.authority" fn p2_http_types_outgoing_request_authority(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]outgoing-request.authority", |component| component.outgoing_authority(a, b))
            }
            "wasi:http/types#[method]outgoing-request.set-authority" fn p2_http_types_outgoing_request_set_authority(a: u32, b: u32, c: u32, d: u32) -> u32 {
                $crate::component::running::call("wasi:http/types#[method]outgoing-request.set-authority", |component| component.outgoing_set_authority(a, b, c, d))
            }
            "wasi:http/types#[method]outgoing-request.headers" fn p2_http_types_outgoing_request_headers(a: u32) -> u32 {
                $crate::component::running::call("wasi:http/types#[method]outgoing-request.headers", |component| component.outgoing_fields(a))
            }
            "wasi:http/types#[constructor]request-options" fn p2_http_types_new_request_options() -> u32 {
                $crate::component::running::call("wasi:http/types#[constructor]request-options", |component| component.new_options())
            }
            "wasi:http/types#[method]request-options.connect-timeout" fn p2_http_types_request_options_connect_timeout(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]request-options.connect-timeout", |component| component.time_limit(a, 0, b))
            }
            "wasi:http/types#[method]request-options.set-connect-timeout" fn p2_http_types_request_options_set_connect_timeout(a: u32, b: u32, c: u64) -> u32 {
                $crate::component::running::call("wasi:http/types#[method]request-options.set-connect-timeout", |component| component.set_time_limit(a, 0, (b != 0).then_some(c)))
            }
            "wasi:http/types#[method]request-options.first-byte-timeout" fn p2_http_types_request_options_first_byte_timeout(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]request-options.first-byte-timeout", |component| component.time_limit(a, 1, b))
            }
            "wasi:http/types#[method]request-options.set-first-byte-timeout" fn p2_http_types_request_options_set_first_byte_timeout(a: u32, b: u32, c: u64) -> u32 {
                $crate::component::running::call("wasi:http/types#[method]request-options.set-first-byte-timeout", |component| component.set_time_limit(a, 1, (b != 0).then_some(c)))
            }
            "wasi:http/types#[method]request-options.between-bytes-timeout" fn p2_http_types_request_options_between_bytes_timeout(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]request-options.between-bytes-timeout", |component| component.time_limit(a, 2, b))
            }
            "wasi:http/types#[method]request-options.set-between-bytes-timeout" fn p2_http_types_request_options_set_between_bytes_timeout(a: u32, b: u32, c: u64) -> u32 {
                $crate::component::running::call("wasi:http/types#[method]request-options.set-between-bytes-timeout", |component| component.set_time_limit(a, 2, (b != 0).then_some(c)))
            }
            "wasi:http/types#[static]response-outparam.set" fn p2_http_types_response_outparam_set(a: u32, b: u32, c: u32, _d: u32, _e: u64, _f: u32, _g: u32, _h: u32, _i: u32) {
                $crate::component::running::call("wasi:http/types#[static]response-outparam.set", |component| component.respond(a, if b == 0 { Ok(c) } else { Err(c) }))
            }
            "wasi:http/types#[method]incoming-response.status" fn p2_http_types_incoming_response_status(a: u32) -> u32 {
                $crate::component::running::call("wasi:http/types#[method]incoming-response.status", |component| component.answer_status(a))
            }
            "wasi:http/types#[method]incoming-response.headers" fn p2_http_types_incoming_response_headers(a: u32) -> u32 {
                $crate::component::running::call("wasi:http/types#[method]incoming-response.headers", |component| component.answer_fields(a))
            }
            "wasi:http/types#[method]incoming-response.consume" fn p2_http_types_incoming_response_consume(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]incoming-response.consume", |component| component.answer_body(a, b))
            }
            "wasi:http/types#[method]incoming-body.stream" fn p2_http_types_incoming_body_stream(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]incoming-body.stream", |component| component.body_stream(a, b))
            }
            "wasi:http/types#[static]incoming-body.finish" fn p2_http_types_incoming_body_finish(a: u32) -> u32 {
                $crate::component::running::call("wasi:http/types#[static]incoming-body.finish", |component| component.body_finish(a))
            }
            "wasi:http/types#[method]future-trailers.subscribe" fn p2_http_types_future_trailers_subscribe(a: u32) -> u32 {
                $crate::component::running::call("wasi:http/types#[method]future-trailers.subscribe", |component| component.trailers_subscribe(a))
            }
            "wasi:http/types#[method]future-trailers.get" fn p2_http_types_future_trailers_get(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]future-trailers.get", |component| component.trailers_get(a, b))
            }
            "wasi:http/types#[constructor]outgoing-response" fn p2_http_types_new_outgoing_response(a: u32) -> u32 {
                $crate::component::running::call("wasi:http/types#[constructor]outgoing-response", |component| component.new_response(a))
            }
            "wasi:http/types#[method]outgoing-response.status-code" fn p2_http_types_outgoing_response_status_code(a: u32) -> u32 {
                $crate::component::running::call("wasi:http/types#[method]outgoing-response.status-code", |component| component.response_status(a))
            }
            "wasi:http/types#[method]outgoing-response.set-status-code" fn p2_http_types_outgoing_response_set_status_code(a: u32, b: u32) -> u32 {
                $crate::component::running::call("wasi:http/types#[method]outgoing-response.set-status-code", |component| component.response_set_status(a, b))
            }
            "wasi:http/types#[method]outgoing-response.headers" fn p2_http_types_outgoing_response_headers(a: u32) -> u32 {
                $crate::component::running::call("wasi:http/types#[method]outgoing-response.headers", |component| component.response_fields(a))
            }
            "wasi:http/types#[method]outgoing-response.body" fn p2_http_types_outgoing_response_body(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]outgoing-response.body", |component| component.response_body(a, b))
            }
            "wasi:http/types#[method]outgoing-body.write" fn p2_http_types_outgoing_body_write(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]outgoing-body.write", |component| component.body_write(a, b))
            }
            "wasi:http/types#[static]outgoing-body.finish" fn p2_http_types_outgoing_body_finish(a: u32, b: u32, c: u32, d: u32) {
                $crate::component::running::call("wasi:http/types#[static]outgoing-body.finish", |component| component.body_end(a, (b != 0).then_some(c), d))
            }
            "wasi:http/types#[method]future-incoming-response.subscribe" fn p2_http_types_future_incoming_response_subscribe(a: u32) -> u32 {
                $crate::component::running::call("wasi:http/types#[method]future-incoming-response.subscribe", |component| component.future_subscribe(a))
            }
            "wasi:http/types#[method]future-incoming-response.get" fn p2_http_types_future_incoming_response_get(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#[method]future-incoming-response.get", |component| component.future_get(a, b))
            }
            "wasi:http/types#http-error-code" fn p2_http_types_http_error_code(a: u32, b: u32) {
                $crate::component::running::call("wasi:http/types#http-error-code", |component| component.http_error(a, b))
            }
            "wasi:http/outgoing-handler#handle" fn p2_http_outgoing_handler_handle(a: u32, b: u32, c: u32, d: u32) {
                $crate::component::running::call("wasi:http/outgoing-handler#handle", |component| component.outgoing_handle(a, (b != 0).then_some(c), d))
            }
        }
    };
}
