# Two commands do everything: `make demo` and `make test`. Each installs what it needs and is missing.

SWIFT ?= swift
PYTHON := .cache/python

# What the package links against; what the tests need beside it.
BUILD_PACKAGES := libbluetooth-dev libssl-dev pkg-config
# What the gateway links against.
GATEWAY_PACKAGES := $(BUILD_PACKAGES) libmosquitto-dev
TEST_PACKAGES := $(GATEWAY_PACKAGES) mosquitto python3-venv tmux tshark
# And for the virtual machine with a real kernel's Bluetooth.
KERNEL_PACKAGES := $(TEST_PACKAGES) qemu-system-x86 busybox-static kmod cpio xz-utils zstd gcc bzip2 \
  bluez bluez-test-tools dbus libcap2-bin

# The place of `make install`.
PREFIX ?= /usr/local

# So many tests run at a time. Swift Testing starts all of them at once: hundreds that compute then keep those that wait for an answer past
# their time limits, on a computer with two cores that has other work, too.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 8

# Seconds of `make fuzz`, divided among the targets.
SECONDS ?= 600

SOURCES := Package.swift Sources Tests Examples Fuzz $(wildcard Benchmarks/Package.swift Benchmarks/Sources)

.PHONY: help demo test check check-examples docs gateway pictures install deb test-deb api bench bench-instructions call-path bench-kernel test-kernel test-rootcanal test-avatar fuzz check-fuzzers test-asan test-tsan test-long soak coverage clean

help:
	@echo "make demo            a heart-rate monitor and its collector talk on a radio simulated in one process"
	@echo "make test            all tests: unit tests, then real hosts and controllers (Bumble), then a real Linux kernel"
	@echo "make check           format, imports, sizes, questions, rules and decisions, build with warnings as errors, clients, unit tests, the public API and its documentation"
	@echo "make check-examples  builds each example as a package of its own, from a copy of its folder"
	@echo "make docs            the documentation of every library product, and a site of all, in .cache/documentation; a warning fails"
	@echo "make gateway         builds the gateway to MQTT, which needs libmosquitto"
	@echo "make install         installs the tool ble below PREFIX (/usr/local), with manual page, completions, unit and udev rule"
	@echo "make deb             builds the Debian packages of the tool and of the gateway in .cache/packages"
	@echo "make test-deb        installs these packages in a fresh Debian 12, runs them and removes them (needs root)"
	@echo "make pictures        draws the architecture, the ladder diagram of the demo and the screens of the tool anew, in Docs/Pictures"
	@echo "make api             writes Docs/API anew, after an intended change of the public API"
	@echo "make bench           the cost of a request, against the reference server in C and Bumble, and the memory of a peripheral"
	@echo "make bench-instructions: the instructions of each operation through the whole host, and their limits"
	@echo "make call-path       the files that a dynamic read passes, from its recorded call stacks"
	@echo "make bench-kernel    the benchmark through a real kernel's Bluetooth, beside BlueZ's btgatt-server"
	@echo "make test-kernel     of these, the ones on a real Linux kernel's Bluetooth, in a virtual machine"
	@echo "make test-rootcanal  the end-to-end tests on RootCanal, Android's Bluetooth controller"
	@echo "make test-avatar     Avatar's suites of the host and of pairing, all tests, beside Bumble on RootCanal"
	@echo "make fuzz SECONDS=n  fuzzes for n seconds in total, and prints executions and coverage of each target"
	@echo "make check-fuzzers   whether each fuzzer finds the fault that is planted in its harness within a minute"
	@echo "make test-asan       the unit tests with the address sanitizer"
	@echo "make test-tsan       the unit tests with the thread sanitizer"
	@echo "make test-long       an hour of fuzzing, a million sequences against the model of the server, the soak, both sanitizers"
	@echo "make soak            50 links, ten million PDUs, faults throughout; draws Docs/soak.svg"
	@echo "make coverage        the lines of the protocol layers that unit tests and the inputs of the fuzzers cover"
	@echo "make clean           removes what these commands made"

demo:
	@scripts/debian-packages $(BUILD_PACKAGES)
	@$(SWIFT) build --product heart-rate
	@$(SWIFT) run --skip-build heart-rate --snoop demo.btsnoop

test:
	@scripts/debian-packages $(TEST_PACKAGES)
	@scripts/python-environment $(PYTHON) Tests/Interop/requirements.txt
	@scripts/python-environment $(PYTHON)-avatar Tests/Interop/Avatar/requirements.txt
	@# What cannot be installed of these is told by the tests on a kernel, which are then left out.
	@scripts/debian-packages $(KERNEL_PACKAGES) || true
	@scripts/python-environment $(PYTHON)-kernel Tests/Interop/kernel/requirements.txt
	@SWIFT="$(SWIFT)" PYTHON="$(PYTHON)/bin/python" KERNEL_PYTHON="$(PYTHON)-kernel/bin/python" \
	  AVATAR_PYTHON="$(PYTHON)-avatar/bin/python" scripts/test

# Package.swift makes every warning an error, in each target.
check:
	@scripts/debian-packages $(BUILD_PACKAGES) python3
	$(SWIFT) format lint --strict --recursive --configuration .swift-format $(SOURCES)
	@scripts/imports --check
	@scripts/sizes --check
	@scripts/check-questions
	@scripts/check-rules
	@scripts/check-limits
	@scripts/check-security
	@scripts/index-decisions --check
	$(SWIFT) build --build-tests
	@SWIFT="$(SWIFT)" scripts/check-clients
	@SWIFT="$(SWIFT)" scripts/check-substitutions
	@SWIFT="$(SWIFT)" scripts/check-snippets
	$(SWIFT) test --skip-build
	@SWIFT="$(SWIFT)" scripts/check-api
	@SWIFT="$(SWIFT)" scripts/check-documentation

gateway:
	@scripts/debian-packages $(GATEWAY_PACKAGES)
	@BLUETOOTHLE_GATEWAY=1 $(SWIFT) build --product ble-gateway

check-examples:
	@scripts/debian-packages $(BUILD_PACKAGES) python3
	@SWIFT="$(SWIFT)" scripts/check-examples

# Below DESTDIR, for packages.
install:
	@scripts/debian-packages $(BUILD_PACKAGES)
	@SWIFT="$(SWIFT)" scripts/install "$(DESTDIR)/" "$(PREFIX)"

deb:
	@scripts/debian-packages $(GATEWAY_PACKAGES) dpkg-dev
	@SWIFT="$(SWIFT)" scripts/debian-package .cache/packages
	@SWIFT="$(SWIFT)" scripts/debian-package .cache/packages ble-gateway

test-deb:
	@scripts/debian-packages $(GATEWAY_PACKAGES) dpkg-dev debootstrap
	@scripts/test-debian-package "$$(SWIFT="$(SWIFT)" scripts/debian-package .cache/packages)"
	@scripts/test-debian-package "$$(SWIFT="$(SWIFT)" scripts/debian-package .cache/packages ble-gateway)"

# The pictures of the documentation, in Docs/Pictures.
pictures:
	@scripts/debian-packages $(BUILD_PACKAGES) graphviz python3-venv tmux
	@$(SWIFT) build --product ble
	@scripts/pictures "$$($(SWIFT) build --show-bin-path)/ble"

docs:
	@scripts/debian-packages $(BUILD_PACKAGES) python3
	@$(SWIFT) build
	@SWIFT="$(SWIFT)" scripts/check-documentation
	@SWIFT="$(SWIFT)" scripts/documentation .cache/documentation

api:
	@scripts/debian-packages $(BUILD_PACKAGES) python3
	@$(SWIFT) build
	@SWIFT="$(SWIFT)" scripts/check-api --write

bench:
	@scripts/debian-packages $(BUILD_PACKAGES) python3 python3-venv
	@scripts/python-environment $(PYTHON) Tests/Interop/requirements.txt
	Benchmarks/run.sh
	BUMBLE_PYTHON="$(CURDIR)/$(PYTHON)/bin/python" Benchmarks/h4.sh
	Benchmarks/memory.sh
	Benchmarks/allocations.sh

bench-instructions:
	@scripts/debian-packages $(BUILD_PACKAGES) valgrind
	Benchmarks/h4.sh 1 --instructions

call-path:
	@scripts/debian-packages $(BUILD_PACKAGES) gdb python3
	@$(SWIFT) build --build-tests
	@scripts/call-path --check

test-kernel:
	@scripts/debian-packages $(KERNEL_PACKAGES)
	@scripts/python-environment $(PYTHON)-kernel Tests/Interop/kernel/requirements.txt
	@$(SWIFT) build --product reference-peripheral
	@$(SWIFT) build --product heart-rate
	@$(SWIFT) build --product managers
	@$(SWIFT) build --product ble
	@for program in room-sensor room-reader hello hello-reader; do $(SWIFT) build --product $$program || exit 1; done
	@SWIFT="$(SWIFT)" KERNEL_PYTHON="$(PYTHON)-kernel/bin/python" scripts/test-kernel

# The programs of this build are not those of the tests: they have a folder of their own.
bench-kernel:
	@scripts/debian-packages $(KERNEL_PACKAGES)
	@scripts/python-environment $(PYTHON)-kernel Tests/Interop/kernel/requirements.txt
	@$(SWIFT) build -c release --scratch-path .cache/release --product reference-peripheral
	@REFERENCE_PERIPHERAL="$(CURDIR)/.cache/release/release/reference-peripheral" SWIFT="$(SWIFT)" \
	  KERNEL_PYTHON="$(PYTHON)-kernel/bin/python" scripts/test-kernel -s benchmark.py

test-rootcanal:
	@scripts/debian-packages $(TEST_PACKAGES)
	@scripts/python-environment $(PYTHON)-rootcanal Tests/Interop/requirements-rootcanal.txt
	@scripts/rootcanal-libraries .cache/rootcanal >/dev/null
	@$(SWIFT) build --product reference-peripheral
	@$(SWIFT) build --product heart-rate
	@cd Tests/Interop && ../../$(PYTHON)-rootcanal/bin/python -m pytest -m rootcanal

test-avatar:
	@scripts/debian-packages $(TEST_PACKAGES)
	@scripts/python-environment $(PYTHON)-avatar Tests/Interop/Avatar/requirements.txt
	@$(SWIFT) build --product avatar-agent
	@cd Tests/Interop/Avatar && ../../../$(PYTHON)-avatar/bin/python run.py --all

fuzz:
	@scripts/debian-packages $(BUILD_PACKAGES) python3
	@SWIFT="$(SWIFT)" scripts/fuzz $(SECONDS)

check-fuzzers:
	@scripts/debian-packages $(BUILD_PACKAGES) python3
	@SWIFT="$(SWIFT)" scripts/check-fuzzers

test-asan:
	@scripts/debian-packages $(BUILD_PACKAGES)
	@SWIFT="$(SWIFT)" scripts/test-sanitized address

test-tsan:
	@scripts/debian-packages $(BUILD_PACKAGES)
	@SWIFT="$(SWIFT)" scripts/test-sanitized thread

test-long:
	@scripts/debian-packages $(BUILD_PACKAGES) python3
	@SWIFT="$(SWIFT)" scripts/test-long

soak:
	@scripts/debian-packages $(BUILD_PACKAGES) python3-venv
	@SWIFT="$(SWIFT)" scripts/soak

coverage:
	@scripts/debian-packages $(BUILD_PACKAGES) python3
	@SWIFT="$(SWIFT)" scripts/coverage

clean:
	rm -rf .build .cache Benchmarks/.build demo.btsnoop
