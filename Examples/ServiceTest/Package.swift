// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "ServiceTest",
  dependencies: [
    // In a copy of this folder: the URL of the repository in place of the path.
    .package(name: "BluetoothLE", path: "../..")
  ],
  targets: [
    .target(name: "Lamp", dependencies: [.product(name: "BLEKit", package: "BluetoothLE")], path: "Sources"),
    .testTarget(
      name: "LampTests", dependencies: ["Lamp", .product(name: "BLEKit", package: "BluetoothLE")], path: "Tests"),
  ]
)
