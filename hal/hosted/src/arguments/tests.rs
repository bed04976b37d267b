use super::*;

fn run(line: &str) -> Result<Command, Error> {
    parse(lexopt::Parser::from_args(line.split_whitespace()))
}

#[test]
fn everything_behind_the_image_is_the_systems() {
    let Ok(Command::Run(run)) = run("--memory-limit 2G os.img -c --help --memory-limit x") else {
        panic!("not understood")
    };
    assert_eq!(run.image, PathBuf::from("os.img"));
    assert_eq!(run.args, ["-c", "--help", "--memory-limit", "x"]);
    assert_eq!((run.memory_limit, run.watch), (Some(2 << 30), 0));
    assert!(!run.stress);
    assert!(!run.measure && run.preemption, "without being asked for");
}

#[test]
fn disks_are_in_order() {
    let line = "--disk a,ro --disk b,rw --disk c,nvme --disk d,ro,nvme os.img --disk e";
    let Ok(Command::Run(run)) = run(line) else {
        panic!("not understood")
    };
    let disks: Vec<_> = run
        .disks
        .iter()
        .map(|d| (d.path.to_str(), d.read_only, d.nvme))
        .collect();
    let wanted = [
        (Some("a"), true, false),
        (Some("b,rw"), false, false),
        (Some("c"), false, true),
        (Some("d"), true, true),
    ];
    assert_eq!(disks, wanted);
    let many = "--disk x ".repeat(MOST_DISKS + 1) + "os.img";
    assert!(matches!(
        super::parse(lexopt::Parser::from_args(many.split_whitespace())),
        Err(Error::Disks)
    ));
}

#[test]
fn a_directory_is_of_the_host_and_of_the_system() {
    let line = "--dir a::b::/mnt/a,rw --dir .::/mnt/b,ro --dir /c::/c os.img --dir x";
    let Ok(Command::Run(run)) = run(line) else {
        panic!("not understood")
    };
    let all: Vec<_> = run
        .directories
        .iter()
        .map(|d| (d.path.to_str().unwrap(), d.at.as_str(), d.read_only))
        .collect();
    assert_eq!(
        all,
        [
            ("a::b", "/mnt/a", false),
            (".", "/mnt/b", true),
            ("/c", "/c", true)
        ]
    );
}

#[test]
fn what_is_no_directory_and_path_is_refused_with_the_reason() {
    for (value, reason) in [
        ("here", "write HOST::PATH"),
        ("::/mnt", "write HOST::PATH"),
        ("here::mnt", "not absolute"),
        ("here::/", "/ itself"),
        ("here::/mnt/..", "`..`"),
        ("here::/a,b", "comma"),
        ("here::/0123456789012345678901234567890", "31 bytes"),
    ] {
        let Err(error) = run(&format!("--dir {value} os.img")) else {
            panic!("{value}")
        };
        let text = error.to_string();
        assert!(text.contains(value) && text.contains(reason), "{text}");
    }
    let taken = run("--dir a::/mnt --dir b::/mnt/b os.img");
    let Err(error) = taken else { panic!("taken") };
    assert!(error.to_string().contains("/mnt/b is taken"), "{error}");
}

#[test]
fn a_network_is_two_addresses() {
    let Ok(Command::Run(two)) = run("--net 127.0.0.1:1,127.0.0.1:2 --net [::1]:1,[::1]:2 i") else {
        panic!("not understood")
    };
    let remotes: Vec<_> = two.networks.iter().map(|n| n.remote.to_string()).collect();
    assert_eq!(remotes, ["127.0.0.1:2", "[::1]:2"]);
    let Ok(Command::Run(one)) = run("--net 127.0.0.1:1,127.0.0.1:2,e1000 i") else {
        panic!("not understood")
    };
    assert!(one.networks[0].e1000 && !two.networks[0].e1000);
    for value in [
        "127.0.0.1:1",
        "user",
        "127.0.0.1:1,localhost:2",
        "127.0.0.1:1,[::1]:2",
        "127.0.0.1:0,127.0.0.1:2",
        "127.0.0.1:1,127.0.0.1:70000",
    ] {
        let Err(error) = run(&format!("--net {value} os.img")) else {
            panic!("{value}")
        };
        let text = error.to_string();
        assert!(
            text.contains(value) && text.contains("LOCAL,REMOTE"),
            "{text}"
        );
    }
}

#[test]
fn sockets_of_the_host_are_there_unless_they_are_not_wanted() {
    let sockets = |line: &str| match run(line) {
        Ok(Command::Run(run)) => run.sockets,
        other => panic!("{line}: {other:?}"),
    };
    assert_eq!(sockets("i"), HostSockets::Loopback);
    assert_eq!(sockets("--net none i"), HostSockets::None);
    assert_eq!(
        sockets("--net host --net [::1]:1,[::1]:2 i"),
        HostSockets::Host(Vec::new())
    );
    assert!(matches!(
        sockets("--net host,10.0.0.0/8,::1 i"),
        HostSockets::Only(..)
    ));
    assert!(matches!(run("--net host,here i"), Err(Error::Range(_))));
    assert!(matches!(
        run("--net host --net none i"),
        Err(Error::Sockets)
    ));
}

#[test]
fn there_is_one_serial_port() {
    let Ok(Command::Run(run)) = run("--serial unix:/s os.img --serial x") else {
        panic!("not understood")
    };
    assert_eq!(run.serial, Some(SerialLine::Socket("/s".into())));
    let twice = super::parse(lexopt::Parser::from_args(
        "--serial a --serial b os.img".split_whitespace(),
    ));
    assert!(matches!(twice, Err(Error::Serial)));
}

#[test]
fn there_is_one_display_at_a_socket() {
    let Ok(Command::Run(run)) = run("--display unix:/s os.img") else {
        panic!("not understood")
    };
    assert_eq!(run.display, DisplaySocket::named("unix:/s".into()));
    let wrong = |line: &str| super::parse(lexopt::Parser::from_args(line.split_whitespace()));
    let twice = wrong("--display unix:a --display unix:b i");
    assert!(matches!(twice, Err(Error::Display)));
    let Err(error) = wrong("--display /s os.img") else {
        panic!("no socket")
    };
    let text = error.to_string();
    assert!(
        text.contains("--display /s") && text.contains("unix:PATH"),
        "{text}"
    );
}

#[test]
fn a_watch_is_read_in_microseconds() {
    let Ok(Command::Run(run)) = run("--watch 200 os.img") else {
        panic!("not understood")
    };
    assert_eq!(run.watch, 200_000);
}

#[test]
fn a_map_for_perf_is_asked_for() {
    assert!(matches!(run("--perf-map i"), Ok(Command::Run(run)) if run.perf_map));
    assert!(matches!(run("i --perf-map"), Ok(Command::Run(run)) if !run.perf_map));
}

#[test]
fn stress_is_asked_for() {
    assert!(matches!(run("--stress switch i"), Ok(Command::Run(run)) if run.stress));
}

#[test]
fn wrong_use_is_named() {
    assert!(matches!(run(""), Err(Error::NoImage)));
    assert!(matches!(run("--memory-limit"), Err(Error::Syntax(_))));
    assert!(matches!(run("--fast os.img"), Err(Error::Syntax(_))));
    for text in ["0", "49", "1000001", "x", "-1", "1e3"] {
        let watch = run(&format!("--watch={text} i"));
        assert!(matches!(watch, Err(Error::Watch(_))), "{text}");
    }
    assert!(matches!(run("--stress much os.img"), Err(Error::Stress(_))));
    for text in ["G", "-1", "1T", "+5", "1.5G", "99999999999G", "0x10"] {
        assert!(
            matches!(
                run(&format!("--memory-limit={text} i")),
                Err(Error::Memory(_))
            ),
            "{text}"
        );
    }
}
