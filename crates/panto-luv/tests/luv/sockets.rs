//! UDP and names, on loopback.

use crate::support::logs;

#[test]
fn datagrams_arrive_one_by_one_with_their_sender() {
    logs(
        r#"
        local a, b = uv.new_udp(), uv.new_udp({ family = "inet" })
        assert(b:bind("127.0.0.1", 0))
        local port, n = b:getsockname().port, 0
        log(b:recv_start(function(err, data, from, flags)
          n = n + 1
          log(err, data, from.ip, from.family, from.port == a:getsockname().port, next(flags))
          if n == 3 then b:recv_stop() b:close() a:close() end
        end))
        log(b:is_active(), select(3, b:recv_start(print)))
        a:send("one", "127.0.0.1", port, function(err)
          log("sent", err, a:get_send_queue_count(), a:get_send_queue_size())
          log(a:try_send({ "t", "wo" }, "127.0.0.1", port))
          log(a:connect("127.0.0.1", port), select(3, a:connect("127.0.0.1", port)))
          log(select(3, a:send("x", "127.0.0.1", port, print)), a:getpeername().port == port)
          a:send("three", nil, nil, function(err) log("sent", err) end)
        end)
        "#,
        &[
            "0",
            "true EALREADY",
            "sent nil 0 0",
            "3",
            "0 EISCONN",
            "EISCONN true",
            "sent nil",
            "nil one 127.0.0.1 inet true nil",
            "nil two 127.0.0.1 inet true nil",
            "nil three 127.0.0.1 inet true nil",
        ],
    );
}

#[test]
fn options_are_set_and_wrong_ones_refused() {
    logs(
        r#"
        local udp = uv.new_udp("inet")
        log(udp:set_broadcast(true), udp:set_ttl(8), udp:set_multicast_ttl(1), udp:set_multicast_loop(true))
        log(select(3, udp:set_ttl(0)), pcall(udp.set_ttl, udp, 999))
        log(udp:set_multicast_interface("127.0.0.1"))
        log(udp:set_membership("239.1.2.3", "127.0.0.1", "join"), udp:set_membership("239.1.2.3", "127.0.0.1", "leave"))
        log(pcall(udp.set_membership, udp, "239.1.2.3", nil, "visit"))
        log(select(3, udp:connect()), select(3, udp:send("x", nil, nil, print)))
        log(udp:bind("127.0.0.1", 0, { reuseaddr = true }), uv.guess_handle(udp:fileno()))
        udp:close()
        local other, to = uv.new_udp(), { ip = "127.0.0.1", port = 9 }
        log(other:try_send2({ { data = "a", addr = to }, { data = { "b", "c" }, addr = to } }), (select(3, other:try_send2({ { data = "a" } }))))
        other:close()
        "#,
        &[
            "0 0 0 0",
            "EINVAL false bad argument #2 to 'udp_set_ttl' (out of range)",
            "0",
            "0 0",
            "false bad argument #4 to 'udp_set_membership' (invalid option 'visit')",
            "ENOTCONN EDESTADDRREQ",
            "0 udp",
            "2 EINVAL",
        ],
    );
}

#[test]
fn numbers_are_resolved_without_a_network() {
    logs(
        r##"
        local hints = { socktype = "stream", numerichost = true, family = "inet" }
        local list = assert(uv.getaddrinfo("127.0.0.1", "80", hints))
        log(#list, list[1].addr, list[1].port, list[1].family, list[1].socktype, list[1].protocol)
        uv.getaddrinfo("::1", nil, { socktype = "dgram", numerichost = true }, function(err, list)
          log(err, #list, list[1].addr, list[1].family, list[1].port, list[1].protocol)
        end)
        uv.run()
        log(uv.getaddrinfo("not a number", nil, hints))
        uv.getaddrinfo("not a number", nil, hints, function(err) log(err) end)
        log(pcall(uv.getaddrinfo))
        log(pcall(uv.getaddrinfo, "x", nil, { family = "pigeon" }))
        uv.run()
        log(type(uv.getnameinfo({ ip = "127.0.0.1", port = 80 })))
        uv.getnameinfo({ ip = "127.0.0.1", port = 65000 }, function(err, host, service) log(err, type(host), service) end)
        "##,
        &[
            "1 127.0.0.1 80 inet stream tcp",
            "nil 1 ::1 inet6 nil udp",
            "nil EAI_NONAME: unknown node or service EAI_NONAME",
            "false either host or service is needed",
            "false bad argument #3 to 'getaddrinfo' (invalid family)",
            "EAI_NONAME",
            "string",
            "nil string 65000",
        ],
    );
}
