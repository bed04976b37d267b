# The system under Nomad: twice as a container, and once as a micro-VM, which needs QEMU at the client and the folder of
# `cargo xtask image --container FOLDER` at an address that the client reaches.

variable "image" {
  type    = string
  default = "singularity:latest"
}

# Where `kernel` and `system.img` are fetched from.
variable "files" {
  type    = string
  default = "http://files.example/singularity"
}

job "singularity" {
  type = "service"

  group "container" {
    count = 2

    network {
      port "http" {
        to = 8080
      }
    }

    service {
      name     = "singularity"
      port     = "http"
      provider = "nomad"

      # A page that a process of its own answers: the server, the network and the making of processes work.
      check {
        type     = "http"
        path     = "/hello"
        interval = "10s"
        timeout  = "3s"

        check_restart {
          limit = 6
          grace = "30s"
        }
      }
    }

    task "singularity" {
      driver       = "docker"
      user         = "65532:65532"
      kill_timeout = "10s"

      config {
        image           = var.image
        args            = ["--net", "host", "--memory-limit", "192M", "/system.img", "--first", "httpd address"]
        ports           = ["http"]
        interactive     = true
        readonly_rootfs = true
        cap_drop        = ["all"]
        security_opt    = ["no-new-privileges"]
        pids_limit      = 64
      }

      resources {
        cpu    = 100
        memory = 256
      }
    }
  }

  group "microvm" {
    count = 1

    network {
      port "http" {}
    }

    service {
      name     = "singularity"
      port     = "http"
      provider = "nomad"

      check {
        type     = "http"
        path     = "/hello"
        interval = "10s"
        timeout  = "10s"

        check_restart {
          limit = 6
          grace = "120s"
        }
      }
    }

    task "singularity" {
      driver       = "exec"
      user         = "nobody"
      kill_timeout = "10s"

      artifact {
        source      = "${var.files}/kernel"
        mode        = "file"
        destination = "local/kernel"
      }

      artifact {
        source      = "${var.files}/system.img"
        mode        = "file"
        destination = "local/system.img"
      }

      config {
        # The machine's console goes to the task's log, and nothing comes from it.
        command = "qemu-system-x86_64"
        args = [
          "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
          "-M", "microvm,auto-kernel-cmdline=off", "-accel", "tcg", "-cpu", "max", "-m", "384",
          "-serial", "stdio",
          "-kernel", "local/kernel", "-initrd", "local/system.img",
          "-append", "virtio_mmio.device=512@0xfeb02e00:47 virtio_mmio.device=512@0xfeb02c00:46 console=none -- --first \"httpd address\"",
          "-global", "virtio-mmio.force-legacy=false",
          "-netdev", "user,id=net0,hostfwd=tcp::${NOMAD_PORT_http}-:8080",
          "-device", "virtio-net-device,netdev=net0,bus=virtio-mmio-bus.23",
          "-device", "virtio-rng-device,bus=virtio-mmio-bus.22",
        ]
      }

      resources {
        cpu    = 1000
        memory = 768
      }
    }
  }
}
