// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

// A package of its own: the stack does not depend on a library for MQTT.
let package = Package(
  name: "Gateway",
  products: [.executable(name: "ble-gateway", targets: ["ble-gateway"])],
  dependencies: [.package(name: "BluetoothLE", path: "..")],
  targets: [
    .systemLibrary(name: "CMosquitto", pkgConfig: "libmosquitto", providers: [.apt(["libmosquitto-dev"])]),
    // What the gateway decides, without I/O.
    .target(
      name: "GatewayCore",
      dependencies: [
        .product(name: "BLEAssignedNumbers", package: "BluetoothLE"),
        .product(name: "BLEGAP", package: "BluetoothLE"),
        .product(name: "BLEProfiles", package: "BluetoothLE"),
        .product(name: "BLEWire", package: "BluetoothLE"),
      ], swiftSettings: strict),
    .executableTarget(
      name: "ble-gateway",
      dependencies: [
        "CMosquitto", "GatewayCore",
        .product(name: "BLEGAP", package: "BluetoothLE"),
        .product(name: "BLEKit", package: "BluetoothLE"),
        .product(name: "BLEWire", package: "BluetoothLE"),
      ], swiftSettings: strict),
    .testTarget(
      name: "GatewayCoreTests",
      dependencies: [
        "GatewayCore",
        .product(name: "BLEGAP", package: "BluetoothLE"),
        .product(name: "BLEWire", package: "BluetoothLE"),
      ], swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
