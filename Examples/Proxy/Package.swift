// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Proxy",
  dependencies: [
    // In a copy of this folder: the URL of the repository in place of the path.
    .package(name: "BluetoothLE", path: "../..")
  ],
  targets: [
    .executableTarget(
      name: "proxy",
      dependencies: [
        .product(name: "BLEProfiles", package: "BluetoothLE"), .product(name: "BLEProxy", package: "BluetoothLE"),
      ], path: "Sources")
  ]
)
