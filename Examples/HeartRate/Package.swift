// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "HeartRate",
  dependencies: [
    // In a copy of this folder: the URL of the repository in place of the path.
    .package(name: "BluetoothLE", path: "../..")
  ],
  targets: [
    .executableTarget(
      name: "heart-rate",
      dependencies: [
        .product(name: "BLEProfiles", package: "BluetoothLE"), .product(name: "BluetoothLE", package: "BluetoothLE"),
      ], path: "Sources")
  ]
)
