// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Benchmarks",
  products: [
    .executable(name: "att-bench-server", targets: ["att-bench-server"]),
    .executable(name: "att-bench-floor", targets: ["att-bench-floor"]),
    .executable(name: "att-bench-load", targets: ["att-bench-load"]),
    .executable(name: "h4-bench-host", targets: ["h4-bench-host"]),
    .executable(name: "h4-bench-floor", targets: ["h4-bench-floor"]),
    .executable(name: "h4-bench-load", targets: ["h4-bench-load"]),
    .library(name: "allocation-counter", type: .dynamic, targets: ["allocation-counter"]),
    .library(name: "operation-mark", type: .dynamic, targets: ["operation-mark"]),
    .executable(name: "memory-bench-database", targets: ["memory-bench-database"]),
    .executable(name: "memory-bench-empty", targets: ["memory-bench-empty"]),
    .executable(name: "memory-bench-peripheral", targets: ["memory-bench-peripheral"]),
  ],
  dependencies: [.package(name: "BluetoothLE", path: "..")],
  targets: [
    .systemLibrary(name: "CEpoll"),
    .target(name: "SequentialPackets"),
    .executableTarget(
      name: "att-bench-server",
      dependencies: [
        "CEpoll", "SequentialPackets",
        .product(name: "BLEATT", package: "BluetoothLE"),
        .product(name: "BLEGATT", package: "BluetoothLE"),
        .product(name: "BLEWire", package: "BluetoothLE"),
      ]),
    .executableTarget(name: "att-bench-floor", dependencies: ["CEpoll", "SequentialPackets"]),
    .executableTarget(name: "att-bench-load", dependencies: ["SequentialPackets"]),
    .executableTarget(name: "h4-bench-floor", linkerSettings: [.linkedLibrary("dispatch")]),
    .executableTarget(name: "h4-bench-load"),
    .target(name: "allocation-counter"),
    .target(name: "operation-mark"),
    .executableTarget(
      name: "memory-bench-database",
      dependencies: [
        .product(name: "BLEATT", package: "BluetoothLE"), .product(name: "BLEGATT", package: "BluetoothLE"),
        .product(name: "BLEWire", package: "BluetoothLE"),
      ]),
    .executableTarget(
      name: "memory-bench-empty", dependencies: [.product(name: "BLECrypto", package: "BluetoothLE")]),
    .executableTarget(
      name: "memory-bench-peripheral", dependencies: [.product(name: "BLEKit", package: "BluetoothLE")]),
    .executableTarget(name: "h4-bench-host", dependencies: [.product(name: "BluetoothLE", package: "BluetoothLE")]),
  ],
  swiftLanguageModes: [.v6]
)
