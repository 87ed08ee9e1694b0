# Two commands do everything: `make demo` and `make test`. Each installs what it needs and does not find.

SWIFT ?= swift
PYTHON := .cache/python

# What the package links against; what the tests need beside it.
BUILD_PACKAGES := libbluetooth-dev libssl-dev pkg-config
# What the gateway links against.
GATEWAY_PACKAGES := $(BUILD_PACKAGES) libmosquitto-dev
# What the virtual machine with a real kernel's Bluetooth needs (scripts/test has the same list for the tests).
KERNEL_PACKAGES := $(BUILD_PACKAGES) python3-venv qemu-system-x86 busybox-static kmod cpio xz-utils zstd gcc bzip2 \
  bluez bluez-test-tools dbus libcap2-bin

# The page of `ble log`: what its WebAssembly module is linked with (scripts/test has the same list for the tests).
LOG_PAGE_PACKAGES := make python3 wasi-libc libclang-rt-dev-wasm32

# The place of `make install`.
PREFIX ?= /usr/local

# Seconds of `make fuzz`, divided among the targets.
SECONDS ?= 600

SOURCES := Package.swift Sources Tests Examples Fuzz Web $(wildcard Benchmarks/Package.swift Benchmarks/Sources)

.PHONY: help demo test test-all test-long test-arm64 check check-examples docs log-page gateway pictures install deb test-deb api bench bench-link bench-start bench-proxy bench-instructions bench-latency call-path bench-kernel fuzz check-fuzzers soak coverage clean

help:
	@echo "make demo            a heart-rate monitor and its collector talk on a radio simulated in one process"
	@echo "make test            unit tests, and our programs on our radio and against Bumble: before each commit"
	@echo "make test-all        these, then other radios, client programs, Linux kernels, Avatar, failing system calls, a minute of fuzzing, signals, soak, allocations"
	@echo "make test-long       an hour of fuzzing, a million sequences against the model of the server, the soak, both sanitizers, Debian's own Swift, arm64"
	@echo "make test-arm64      the unit tests of the layers and the host, and the end-to-end tests, compiled for arm64, in an emulator"
	@echo "make test-PART       one part of these: scripts/test --list"
	@echo "make check           format, imports, documents against sources, the public API and its documentation: before each commit"
	@echo "make check-examples  builds each example as a package of its own, from a copy of its folder"
	@echo "make docs            the documentation of every library product, and a site of all, in .cache/documentation; a warning fails"
	@echo "make log-page        ble log as a page for browsers, one file, in .cache/log-page/log.html"
	@echo "make gateway         builds the gateway to MQTT, which needs libmosquitto, in .build"
	@echo "make install         installs the tool ble below PREFIX (/usr/local), with manual page, completions, unit and udev rule"
	@echo "make deb             builds the Debian packages of the tool and of the gateway in .cache/packages, with debhelper (ARCH=arm64: for arm64)"
	@echo "make test-deb        checks these packages with lintian, installs them in a fresh Debian 12, runs and removes them (needs root)"
	@echo "make pictures        draws the architecture, the ladder diagram of the demo and the screens of the tool anew, in Docs/Pictures"
	@echo "make api             writes Docs/API anew, after an intended change of the public API"
	@echo "make bench           the cost of a request, against the reference server in C and Bumble, and the memory of a peripheral"
	@echo "make bench-link      how much of what a link can carry arrives, in virtual time; draws Docs/Performance/limit.svg"
	@echo "make bench-start     how long the tool needs to start, beside bluetoothctl"
	@echo "make bench-proxy     the instructions of ble proxy for an advertisement, beside ble scan --json"
	@echo "make bench-instructions: the instructions of each operation through the whole host, and their limits"
	@echo "make bench-latency   the time from a packet to the program and back, with one link, with 16, and beside a flood"
	@echo "make bench-kernel    the benchmark through a real kernel's Bluetooth, beside BlueZ's btgatt-server"
	@echo "make call-path       the files that a dynamic read passes, from its recorded call stacks"
	@echo "make fuzz SECONDS=n  fuzzes for n seconds in total, and prints executions and coverage of each target"
	@echo "make check-fuzzers   whether each fuzzer finds the fault that is planted in its harness within a minute"
	@echo "make soak            50 links, ten million PDUs, faults throughout; draws Docs/soak.svg"
	@echo "make coverage        the lines of the protocol layers that unit tests and the inputs of the fuzzers cover"
	@echo "make clean           removes what these commands made"

demo:
	@scripts/debian-packages $(BUILD_PACKAGES)
	@$(SWIFT) build --product heart-rate
	@$(SWIFT) run --skip-build heart-rate --snoop demo.btsnoop

test:
	@scripts/debian-packages python3
	@SWIFT="$(SWIFT)" scripts/test

test-all:
	@scripts/debian-packages python3
	@SWIFT="$(SWIFT)" scripts/test --all

test-long:
	@scripts/debian-packages python3
	@SWIFT="$(SWIFT)" scripts/test --long

# The layers, BLEHost and BLERuntime; the part arm64 of scripts/test has all unit tests.
test-arm64:
	@scripts/debian-packages mmdebstrap
	@scripts/test-arm64

# make test-kernel and so on: scripts/test --list has the parts.
test-%:
	@scripts/debian-packages python3
	@SWIFT="$(SWIFT)" scripts/test $*

# Package.swift makes every warning an error, in each target.
check:
	@scripts/debian-packages $(GATEWAY_PACKAGES) python3
	$(SWIFT) format lint --strict --recursive --configuration .swift-format $(SOURCES)
	@SWIFT="$(SWIFT)" scripts/imports --check
	@scripts/check-questions
	@scripts/check-tests
	@scripts/check-links
	BLUETOOTHLE_GATEWAY=1 $(SWIFT) build --build-tests
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

# ARCH=arm64: those of another architecture, compiled here, in .cache/packages-arm64.
ifeq ($(ARCH),)
PACKAGES := .cache/packages
PACKAGING_PACKAGES := $(GATEWAY_PACKAGES) debhelper python3
else
PACKAGES := .cache/packages-$(ARCH)
PACKAGING_PACKAGES := mmdebstrap arch-test
endif

deb:
	@scripts/debian-packages $(PACKAGING_PACKAGES)
	@SWIFT="$(SWIFT)" scripts/debian-package $(PACKAGES) $(ARCH)

test-deb:
	@scripts/debian-packages $(PACKAGING_PACKAGES) lintian debootstrap mosquitto python3-venv
	@scripts/python-environment $(PYTHON) Tests/Interop/requirements.txt
	@for package in $$(SWIFT="$(SWIFT)" scripts/debian-package $(PACKAGES) $(ARCH)); do \
	  scripts/test-debian-package "$$package" || exit 1; \
	done

# The pictures of the documentation, in Docs/Pictures.
pictures: log-page
	@scripts/debian-packages $(BUILD_PACKAGES) graphviz python3-venv tmux chromium
	@$(SWIFT) build --product ble
	@scripts/pictures "$$($(SWIFT) build --show-bin-path)/ble"

# The page of `ble log`, one file, in .cache/log-page.
log-page:
	@scripts/debian-packages $(LOG_PAGE_PACKAGES)
	@$(MAKE) --no-print-directory -C Web/Log
	@scripts/log-page .cache/log-page/log.wasm .cache/log-page/log.html

docs: log-page
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

bench-link:
	@$(SWIFT) build --product link-limit
	@Benchmarks/link_limit.py --run "$$($(SWIFT) build --show-bin-path)/link-limit"
	@Benchmarks/subrating.py "$$($(SWIFT) build --show-bin-path)/link-limit"

bench-start:
	@scripts/debian-packages $(BUILD_PACKAGES) python3 bluez
	@SWIFT="$(SWIFT)" scripts/release-products ble
	@Benchmarks/start.py

bench-instructions:
	@scripts/debian-packages $(BUILD_PACKAGES) valgrind
	Benchmarks/h4.sh 1 --instructions

bench-latency:
	@scripts/debian-packages $(BUILD_PACKAGES) python3-venv
	Benchmarks/latency.sh

# The proxy beside `ble scan`: what an advertisement costs.
bench-proxy:
	@scripts/debian-packages $(BUILD_PACKAGES) python3-venv valgrind
	@scripts/python-environment .cache/python-proxy Tests/Interop/requirements-proxy.txt
	@SWIFT="$(SWIFT)" scripts/release-products ble
	@.cache/python-proxy/bin/python Benchmarks/proxy.py

call-path:
	@scripts/debian-packages $(BUILD_PACKAGES) gdb python3
	@$(SWIFT) build $$(scripts/native-build) --build-tests
	@scripts/call-path "$$($(SWIFT) build $$(scripts/native-build) --show-bin-path)"

# The programs of this build are not those of the tests: they have a folder of their own.
bench-kernel:
	@scripts/debian-packages $(KERNEL_PACKAGES)
	@scripts/python-environment $(PYTHON)-kernel Tests/Interop/kernel/requirements.txt
	@$(SWIFT) build $$(scripts/native-build) -c release --scratch-path .cache/release --product reference-peripheral
	@REFERENCE_PERIPHERAL="$(CURDIR)/.cache/release/release/reference-peripheral" SWIFT="$(SWIFT)" \
	  KERNEL_PYTHON="$(PYTHON)-kernel/bin/python" scripts/test-kernel -s benchmark.py

fuzz:
	@scripts/debian-packages $(BUILD_PACKAGES) python3
	@SWIFT="$(SWIFT)" scripts/fuzz $(SECONDS)

check-fuzzers:
	@scripts/debian-packages $(BUILD_PACKAGES) python3
	@SWIFT="$(SWIFT)" scripts/fuzz --planted

soak:
	@scripts/debian-packages $(BUILD_PACKAGES) python3-venv
	@SWIFT="$(SWIFT)" scripts/soak

coverage:
	@scripts/debian-packages $(BUILD_PACKAGES) python3
	@SWIFT="$(SWIFT)" scripts/coverage

clean:
	rm -rf .build .cache Benchmarks/.build demo.btsnoop
