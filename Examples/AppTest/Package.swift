// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "AppTest",
  dependencies: [
    // In a copy of this folder: the URL of the repository in place of the path.
    .package(name: "BluetoothLE", path: "../..")
  ],
  targets: [
    .target(
      name: "HeartRateReader", dependencies: [.product(name: "CoreBluetooth", package: "BluetoothLE")],
      path: "Sources"),
    .testTarget(
      name: "HeartRateReaderTests",
      dependencies: [
        "HeartRateReader", .product(name: "BLEKit", package: "BluetoothLE"),
        .product(name: "BLETesting", package: "BluetoothLE"), .product(name: "CoreBluetooth", package: "BluetoothLE"),
      ], path: "Tests"),
  ]
)
