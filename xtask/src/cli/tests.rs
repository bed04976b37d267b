use super::*;

fn parse_line(line: &[&str]) -> Result<Command> {
    parse(lexopt::Parser::from_args(line))
}

#[test]
fn run_takes_commands_machine_and_arguments() {
    let line = ["run", "--machine", "pc", "-c", "ps; hello", "--", "-v", "x"];
    let Command::Run(request) = parse_line(&line).unwrap() else {
        panic!("not run")
    };
    assert_eq!(request.machine, Machine::Microvm);
    assert_eq!(request.script.as_deref(), Some("ps; hello"));
    assert_eq!(request.arguments, ["-v", "x"]);
    assert_eq!(request.memory, MemoryMode::Guard);
}

#[test]
fn an_image_is_for_a_file_or_a_disc() {
    for (line, disc, out) in [
        (&["image"][..], false, None),
        (&["image", "-o", "x"], false, Some("x")),
        (&["image", "--iso"], true, None),
        (&["image", "--iso", "x"], true, Some("x")),
        (&["image", "--iso", "--memory", "guard"], true, None),
    ] {
        let Command::Image(request) = parse_line(line).unwrap() else {
            panic!("not image")
        };
        assert_eq!(
            (request.disc, request.out),
            (disc, out.map(PathBuf::from)),
            "{line:?}"
        );
    }
}

#[test]
fn mistakes_are_named() {
    for (line, part) in [
        (&["walk"][..], "walk"),
        (&["rnu"], "did you mean `run`"),
        (&["tset", "unit"], "did you mean `test`"),
        (&["run", "--machine", "vax"], "vax"),
        (&["run", "--memory", "none"], "none"),
        (&["run", "-c", "a", "-c", "b"], "once"),
        (&["run", "--script", "no/such/file"], "no/such/file"),
        (&["run", "extra"], "extra"),
        (&["run", "--net", "tap0"], "tap0"),
        (&["run", "--fresh", "--disk", "x"], "--fresh"),
        (&["image", "extra"], "extra"),
        (&["image", "--container", "x", "-o", "y"], "folder"),
        (&["wast"], "which files"),
        (&["bench"], "which one"),
        (&["bench", "basic", "--rounds", "0"], "positive"),
        (&["test", "a", "b"], "b"),
        (&["test", "fresh-machine", "--fast"], "fast"),
        (&["fuzz"], "abi, code, http, packets, embed and wasi"),
        (&["fuzz", "embed", "--machine", "pc"], "--machine"),
        (&["fuzz", "abi", "--alone"], "fuzz wasi"),
        (&["fuzz", "abi", "--time", "3", "--rounds", "3"], "one of"),
        (&["fuzz", "code", "--machine", "pc"], "--machine"),
        (&["fuzz", "http", "--machine", "pc"], "--machine"),
        (&["fuzz", "packets", "--rounds", "3"], "--rounds"),
        (&["fuzz", "abi", "--seed", "x"], "invalid digit"),
        (&["fuzz", "abi", "--time", "0"], "not a positive number"),
        (&["soak", "--time", "0"], "not a positive number"),
        (&["soak", "long"], "long"),
        (&["soak", "--machine", "pc"], "--machine"),
    ] {
        let error = reason(&parse_line(line).unwrap_err());
        assert_eq!(error.matches(part).count(), 1, "{line:?}: {error}");
    }
}

#[test]
fn each_name_in_the_usage_is_a_command() {
    assert!(names().count() > 10);
    for name in names() {
        let known = match parse_line(&[name]) {
            Ok(_) => true,
            Err(error) => !reason(&error).contains("unknown command"),
        };
        assert!(known, "{name}");
    }
}
