// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Benchmarks",
  products: [.executable(name: "att-bench-server", targets: ["att-bench-server"])],
  dependencies: [.package(name: "BluetoothLE", path: "..")],
  targets: [
    .systemLibrary(name: "CEpoll"),
    .executableTarget(
      name: "att-bench-server",
      dependencies: [
        "CEpoll",
        .product(name: "BLEATT", package: "BluetoothLE"),
        .product(name: "BLEGATT", package: "BluetoothLE"),
        .product(name: "BLEWire", package: "BluetoothLE"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
