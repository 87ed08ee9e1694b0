// swift-tools-version: 6.2
import PackageDescription

/// Whether the package has the fuzzers of the folder Fuzz in place of examples and tests (`scripts/fuzz`).
let isFuzzing = Context.environment["BLUETOOTHLE_FUZZING"] != nil

/// Whether the package has the gateway to MQTT (`make gateway`, `make test`): it needs libmosquitto, and the stack does
/// not depend on that.
let hasGateway = Context.environment["BLUETOOTHLE_GATEWAY"] != nil

/// Whether `Mutex` and `Atomic` are those of Tests/ThreadSanitizer (`make test-tsan`).
let usesSanitizerLocks = Context.environment["BLUETOOTHLE_THREAD_SANITIZER"] != nil

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

/// A layer: one target, imports only what is named here (Docs/Architecture.md draws the arrows).
func layer(_ name: String, on dependencies: [String] = [], excluding: [String] = []) -> Target {
  .target(
    name: name, dependencies: dependencies.map { .init(stringLiteral: $0) }, exclude: excluding, swiftSettings: strict)
}

/// What stands in for the parts of a layer that a firmware leaves out (Docs/Decisions/embedded.md).
let omitted = ["Omitted"]

/// A program as another package writes it: on products, without access to what is declared for this package.
func example(_ name: String, in folder: String, on dependencies: [String]) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies.map { .init(stringLiteral: $0) }, path: "Examples/\(folder)",
    packageAccess: false, swiftSettings: strict)
}

/// A program as an author of Apple's systems writes it: on CoreBluetooth alone, in one of its language modes. The other modes are
/// checked by scripts/check-clients.
func program(
  _ name: String, in folder: String, on dependencies: [String] = ["CoreBluetooth"], mode: SwiftLanguageMode
) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies.map { .init(stringLiteral: $0) }, path: "Tests/Programs/\(folder)",
    packageAccess: false, swiftSettings: [.treatAllWarnings(as: .error), .swiftLanguageMode(mode)])
}

/// A library in the style of those that exist for CoreBluetooth.
func clientLibrary(_ name: String, in folder: String, mode: SwiftLanguageMode) -> Target {
  .target(
    name: name, dependencies: ["CoreBluetooth"], path: "Tests/Programs/\(folder)", packageAccess: false,
    swiftSettings: [.treatAllWarnings(as: .error), .swiftLanguageMode(mode)])
}

/// Shared by the examples that are no packages of their own.
let programOutput = Target.target(
  name: "ProgramOutput", path: "Examples/ProgramOutput", packageAccess: false, swiftSettings: strict)

func tests(_ name: String, on dependencies: [String], excluding: [String] = []) -> Target {
  .testTarget(
    name: name, dependencies: dependencies.map { .init(stringLiteral: $0) }, exclude: excluding, swiftSettings: strict)
}

// Which product a program names:
//
//   The program                                                              | The product
//   -------------------------------------------------------------------------|-----------------------------------------
//   is new, with async calls and sequences                                   | BLEKit
//   is new, and uses heart rates, batteries, beacons or other profiles       | BLEProfiles, which includes BLEKit
//   was written for CoreBluetooth and begins with `import CoreBluetooth`     | CoreBluetooth
//   uses delegates, and names without `CB`; or both APIs                     | BluetoothLE
//   shares its adapters among clients that scan and connect for themselves   | BLEProxy
//   encodes or decodes packets: a sniffer, a controller, a host of its own   | BLEHCI, BLEL2CAP, BLEATT, BLESMP, BLEGAP
//   needs the server or the client of GATT without the rest of the stack     | BLEGATT
//   is the firmware of a peripheral, or a peripheral with a loop of its own  | BLEPeripheral
//   tests a program in virtual time                                          | BLETesting, beside the program's own
//   tests a host against simulated controllers                               | BLEVirtual
//   serves simulated controllers to other programs                           | BLEVirtualServer
//   prints the names of UUIDs, companies and appearances                     | BLEAssignedNumbers
//   gives BLESMP or BLEVirtual a cryptography of its own                     | BLECrypto
//   uses types that several of these share: UUIDs, addresses, buffers        | BLEWire

let package = Package(
  name: "BluetoothLE",
  products: [
    .library(name: "BluetoothLE", targets: ["BluetoothLE"]),
    .library(name: "CoreBluetooth", targets: ["CoreBluetooth"]),
    .library(name: "BLEKit", targets: ["BLEKit"]),
    .library(name: "BLEProfiles", targets: ["BLEProfiles"]),
    .library(name: "BLEProxy", targets: ["BLEProxy"]),
    .library(name: "BLEAssignedNumbers", targets: ["BLEAssignedNumbers"]),
    .library(name: "BLEWire", targets: ["BLEWire"]),
    .library(name: "BLECrypto", targets: ["BLECrypto"]),
    .library(name: "BLEHCI", targets: ["BLEHCI"]),
    .library(name: "BLEGAP", targets: ["BLEGAP"]),
    .library(name: "BLEL2CAP", targets: ["BLEL2CAP"]),
    .library(name: "BLEATT", targets: ["BLEATT"]),
    .library(name: "BLEGATT", targets: ["BLEGATT"]),
    .library(name: "BLESMP", targets: ["BLESMP"]),
    .library(name: "BLEPeripheral", targets: ["BLEPeripheral"]),
    .library(name: "BLEVirtual", targets: ["BLEVirtual"]),
    .library(name: "BLEVirtualServer", targets: ["BLEVirtualServer"]),
    .library(name: "BLETesting", targets: ["BLETesting"]),
    .executable(name: "ble", targets: ["ble"]),
    .executable(name: "channel-transfer", targets: ["channel-transfer"]),
    .executable(name: "reference-central", targets: ["reference-central"]),
    .executable(name: "reference-peripheral", targets: ["reference-peripheral"]),
    .executable(name: "virtual-radio", targets: ["virtual-radio"]),
  ],
  targets: [
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CCoreBluetooth"),
    // The headers of libbluetooth-dev. `pkgConfig` would link programs against the library, of which nothing is called.
    .systemLibrary(name: "CBluetoothLinux"),
    .systemLibrary(name: "CLibCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),

    layer("BLEWire", excluding: omitted),
    layer("BLEAssignedNumbers", on: ["BLEWire"]),
    layer("BLECrypto", on: ["CLibCrypto"]),
    layer("BLEHCI", on: ["BLEWire"]),
    layer("BLEGAP", on: ["BLEWire"]),
    layer("BLEL2CAP", on: ["BLEWire"], excluding: omitted),
    layer("BLEATT", on: ["BLEWire"]),
    layer("BLESMP", on: ["BLECrypto", "BLEWire"]),
    layer("BLEGATT", on: ["BLEATT", "BLEWire"]),
    layer(
      "BLEHost", on: ["BLEATT", "BLECrypto", "BLEGATT", "BLEHCI", "BLEL2CAP", "BLESMP", "BLEWire"], excluding: omitted),
    // For a firmware, too: Examples/Microcontroller compiles it and the layers below as Embedded Swift.
    layer(
      "BLEPeripheral",
      on: ["BLEATT", "BLECrypto", "BLEGAP", "BLEGATT", "BLEHCI", "BLEHost", "BLESMP", "BLEWire"]),
    layer("BLEVirtual", on: ["BLECrypto", "BLEHCI", "BLEWire"]),
    layer("BLELinux", on: ["CLinux", "BLEWire"]),
    layer(
      "BLEKernel",
      on: ["CBluetoothLinux", "BLEGATT", "BLEHCI", "BLEHost", "BLEL2CAP", "BLELinux", "BLESMP", "BLEWire"]),
    layer(
      "BLERuntime",
      on: [
        "BLECrypto", "BLEGATT", "BLEHost", "BLEHCI", "BLEKernel", "BLELinux", "BLEVirtual", "BLEWire",
      ]),
    layer("BLEVirtualServer", on: ["BLELinux", "BLERuntime", "BLEVirtual"]),
    layer("BLEJSON", on: ["BLEWire"]),
    layer("ESPHomeAPI", on: ["BLECrypto", "BLEWire"]),
    layer(
      "BLEAdapter",
      on: [
        "BLEATT", "BLECrypto", "BLEGAP", "BLEGATT", "BLEHCI", "BLEHost", "BLEJSON", "BLEL2CAP", "BLELinux",
        "BLERuntime",
        "BLESMP", "BLEWire",
      ]),
    layer(
      "CoreBluetoothTypes",
      on: [
        "BLEAdapter", "BLEATT", "BLEGAP", "BLEGATT", "BLEHCI", "BLEHost", "BLEL2CAP", "BLELinux", "BLEWire",
        "CCoreBluetooth",
      ]),
    layer(
      "BLEKit",
      on: [
        "BLEAdapter", "BLEATT", "BLEGAP", "BLEGATT", "BLEHCI", "BLEHost", "BLEL2CAP", "BLELinux", "BLESMP", "BLEWire",
      ]),
    layer("BLEProfiles", on: ["BLEGAP", "BLEKit", "BLEWire"]),
    layer("BLEProxy", on: ["BLEKit", "BLEWire"]),
    layer("ESPHomeProxy", on: ["BLECrypto", "BLEKit", "BLELinux", "BLEProxy", "BLEWire", "ESPHomeAPI"]),
    layer("CoreBluetooth", on: ["CoreBluetoothTypes"]),
    layer(
      "BluetoothLE",
      on: ["BLEAdapter", "BLEGAP", "BLEHost", "BLEKit", "BLELinux", "BLEWire", "CoreBluetoothTypes"]),

    // A radio in virtual time for the tests of programs.
    layer(
      "BLETesting",
      on: [
        "BLEAdapter", "BLEATT", "BLECrypto", "BLEGATT", "BLEHCI", "BLEHost", "BLEKit", "BLELinux", "BLEReplay",
        "BLERuntime", "BLESMP", "BLETrace", "BLETwin", "BLEVirtual", "BLEWire", "CoreBluetoothTypes", "ToolCore",
      ]),

    // What the programs `ble` and `ble-gateway` have in common.
    layer(
      "ToolCore",
      on: [
        "BLEAdapter", "BLEAssignedNumbers", "BLEJSON", "BLEKit", "BLELinux", "BLEProfiles", "BLERuntime", "BLEWire",
      ]),
    // Packet traces: their files, their packets in plain words, explanations and pictures.
    layer(
      "BLETrace",
      on: [
        "BLEAssignedNumbers", "BLEATT", "BLEGAP", "BLEGATT", "BLEHCI", "BLEL2CAP", "BLEProfiles", "BLESMP", "BLEWire",
        "ToolCore",
      ]),

    // The session of a central in a trace, repeated against a device.
    layer("BLEReplay", on: ["BLEATT", "BLEKit", "BLETrace", "BLEWire"]),

    // Peripherals that a file describes, copies of devices among them.
    layer(
      "BLETwin",
      on: [
        "BLEAssignedNumbers", "BLEATT", "BLEGAP", "BLEGATT", "BLEHCI", "BLEHost", "BLEJSON", "BLEKit", "BLEL2CAP",
        "BLEProfiles", "BLESMP", "BLETrace", "BLEWire", "ToolCore",
      ]),

    // The tool of the command line.
    .executableTarget(
      name: "ble",
      dependencies: [
        "BLEReplay",
        "BLEAdapter", "BLEAssignedNumbers", "BLEATT", "BLEGAP", "BLEHCI", "BLEJSON", "BLEKit", "BLELinux",
        "BLEProxy", "BLETrace", "BLETwin", "BLEVirtual", "BLEVirtualServer", "BLEWire", "CLinux",
        "ESPHomeAPI",
        "ESPHomeProxy", "ToolCore",
      ], swiftSettings: strict),

    // What the gateway to MQTT decides, without I/O. The program `ble-gateway` is added below.
    .target(
      name: "GatewayCore", dependencies: ["BLEAssignedNumbers", "BLEGAP", "BLEProfiles", "BLEWire", "ToolCore"],
      packageAccess: false, swiftSettings: strict),

    example("channel-transfer", in: "ChannelTransfer", on: ["BluetoothLE", "ProgramOutput"]),
    example("heart-rate", in: "HeartRate/Sources", on: ["BLEProfiles", "BluetoothLE"]),
    example("battery", in: "Battery/Sources", on: ["BLEProfiles"]),
    example("beacon", in: "Beacon/Sources", on: ["BLEProfiles"]),
    example("explorer", in: "Explorer/Sources", on: ["BLEProfiles"]),
    example("keyboard", in: "Keyboard/Sources", on: ["BLEProfiles"]),
    example("provisioning", in: "Provisioning/Sources", on: ["BLEProfiles"]),
    example("proxy", in: "Proxy/Sources", on: ["BLEProfiles", "BLEProxy"]),
    example("relay", in: "Relay/Sources", on: ["BLEProfiles"]),
    example("scanner", in: "Scanner/Sources", on: ["BLEProfiles"]),
    example("thermometer", in: "Thermometer/Sources", on: ["BLEProfiles"]),
    example("throughput", in: "Throughput/Sources", on: ["BLEProfiles"]),
    example("uart-echo", in: "NordicUART/Sources", on: ["BLEProfiles"]),
    .target(
      name: "Lamp", dependencies: ["BLEKit"], path: "Examples/ServiceTest/Sources", packageAccess: false,
      swiftSettings: strict),
    .target(
      name: "HeartRateReader", dependencies: ["CoreBluetooth"], path: "Examples/AppTest/Sources", packageAccess: false,
      swiftSettings: strict),
    .testTarget(
      name: "HeartRateReaderTests", dependencies: ["BLEKit", "BLETesting", "CoreBluetooth", "HeartRateReader"],
      path: "Examples/AppTest/Tests", packageAccess: false, swiftSettings: strict),
    .testTarget(
      name: "LampTests", dependencies: ["Lamp", "BLEKit"], path: "Examples/ServiceTest/Tests", packageAccess: false,
      swiftSettings: strict),
    example("reference-central", in: "ReferenceCentral", on: ["BluetoothLE", "ProgramOutput"]),
    example("reference-peripheral", in: "ReferencePeripheral", on: ["BluetoothLE", "ProgramOutput"]),
    example(
      "virtual-radio", in: "VirtualRadio", on: ["BLEHCI", "BLEVirtual", "BLEVirtualServer", "ProgramOutput"]),
    programOutput,

    // Directed by Tests/Interop.
    .executableTarget(
      name: "managers", dependencies: ["BluetoothLE"], path: "Tests/Interop/Managers", packageAccess: false,
      swiftSettings: strict),
    // Directed by Tests/Interop/Avatar.
    .executableTarget(
      name: "avatar-agent", dependencies: ["BluetoothLE"], path: "Tests/Interop/Avatar/Agent", packageAccess: false,
      swiftSettings: strict),

    // Run by scripts/soak.
    .executableTarget(
      name: "soak",
      dependencies: ["BLEATT", "BLECrypto", "BLEGATT", "BLEHCI", "BLEHost", "BLESMP", "BLEVirtual", "BLEWire"],
      path: "Tests/Soak", exclude: ["README.md", "requirements.txt"], swiftSettings: strict),
    // Run by Benchmarks/link_limit.py.
    .executableTarget(
      name: "link-limit",
      dependencies: [
        "BLEATT", "BLECrypto", "BLEGATT", "BLEHCI", "BLEHost", "BLEL2CAP", "BLESMP", "BLEVirtual", "BLEWire",
      ],
      path: "Tests/LinkLimit", swiftSettings: strict),

    program("room-sensor", in: "RoomSensor", mode: .v5),
    program("room-reader", in: "RoomReader", mode: .v5),
    program("hello", in: "Hello", mode: .v6),
    program("hello-reader", in: "HelloReader", mode: .v6),
    program("doorbell", in: "Doorbell", mode: .v5),
    program("chime", in: "Chime", mode: .v5),
    program("mesh-provisioning", in: "MeshProvisioning", mode: .v5),
    program("mdoc", in: "Mdoc", mode: .v5),
    program("card-exchange", in: "CardExchange", mode: .v5),
    program("serial-bridge", in: "SerialBridge", mode: .v6),
    program("resuming-transfer", in: "ResumingTransfer", mode: .v5),
    clientLibrary("PromisedBluetooth", in: "Promised", mode: .v5),
    clientLibrary("AsyncBluetooth", in: "Async", mode: .v6),
    clientLibrary("PublishedBluetooth", in: "Published", mode: .v5),
    clientLibrary("MockedBluetooth", in: "Mocked", mode: .v6),
    program(
      "library-runs", in: "LibraryRuns",
      on: ["CoreBluetooth", "PromisedBluetooth", "AsyncBluetooth", "PublishedBluetooth", "MockedBluetooth"], mode: .v6),

    // The examples of the documentation, as a program of another package compiles them: with the public API alone.
    .testTarget(
      name: "DocumentationTests",
      dependencies: [
        "BLEATT", "BLECrypto", "BLEGAP", "BLEGATT", "BLEHCI", "BLEKit", "BLEL2CAP", "BLEPeripheral", "BLEProfiles",
        "BLEProxy", "BLESMP", "BLETesting", "BLEVirtual", "BluetoothLE", "BLEVirtualServer", "CoreBluetooth", "BLEWire",
      ],
      packageAccess: false, swiftSettings: strict),

    .target(
      name: "AdapterFixtures",
      dependencies: ["BLEAdapter", "BLEATT", "BLECrypto", "BLEGATT", "BLEHost", "BLESMP", "BLETesting", "BLEWire"],
      path: "Tests/AdapterFixtures", swiftSettings: strict),
    .target(
      name: "ModelFixtures",
      dependencies: ["BLEAdapter", "BLEGATT", "BLEHost", "BLETesting", "BLEVirtual"],
      path: "Tests/ModelFixtures", swiftSettings: strict),
    .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: strict),
    .target(name: "TestVectors", path: "Tests/TestVectors", swiftSettings: strict),
    tests(
      "bleTests",
      on: [
        "ble", "BLEAssignedNumbers", "BLEATT", "BLEGAP", "BLEHCI", "BLEHost", "BLEKit",
        "BLEL2CAP", "BLELinux", "BLESMP", "BLETrace", "BLETwin", "BLEWire", "ESPHomeAPI", "ESPHomeProxy", "ToolCore",
        "TestSupport",
      ]),
    tests(
      "BLETraceTests",
      on: [
        "BLEATT", "BLECrypto", "BLEGATT", "BLEHCI", "BLEHost", "BLEL2CAP", "BLESMP", "BLETrace", "BLEVirtual",
        "BLEWire",
        "TestSupport", "ToolCore",
      ]),
    tests("BLEReplayTests", on: ["BLEATT", "BLEHCI", "BLEKit", "BLEReplay", "BLETrace", "BLEWire"]),
    tests(
      "BLETwinTests",
      on: [
        "BLEATT", "BLEGATT", "BLEHCI", "BLEL2CAP", "BLESMP", "BLETrace", "BLETwin", "BLEWire", "TestSupport",
        "ToolCore",
      ]),
    tests("RoundTripTests", on: ["BLEATT", "BLEGAP", "BLEHCI", "BLEL2CAP", "BLESMP", "BLEWire", "TestSupport"]),
    tests("BLEWireTests", on: ["BLEWire", "TestSupport", "TestVectors"]),
    tests("BLECryptoTests", on: ["BLECrypto", "BLEWire", "TestVectors"]),
    tests("BLEHCITests", on: ["BLEHCI", "BLEWire", "TestSupport", "TestVectors"]),
    tests("BLEGAPTests", on: ["BLEGAP", "BLEWire", "TestSupport", "TestVectors"]),
    tests("BLEL2CAPTests", on: ["BLEL2CAP", "BLEWire", "TestSupport", "TestVectors"]),
    tests("BLEATTTests", on: ["BLEATT", "BLEWire", "TestSupport", "TestVectors"]),
    tests("BLESMPTests", on: ["BLESMP", "BLECrypto", "BLEWire", "TestSupport", "TestVectors"]),
    tests("BLEGATTTests", on: ["BLEGATT", "BLEATT", "BLECrypto", "BLEWire", "TestSupport", "TestVectors"]),
    tests(
      "BLEHostTests",
      on: [
        "BLEHost", "BLEVirtual", "BLEATT", "BLECrypto", "BLEGATT", "BLEHCI", "BLEL2CAP", "BLESMP", "BLEWire",
      ], excluding: ["Recording/Transcripts"]),
    tests(
      "FairnessTests",
      on: [
        "BLEKit", "CoreBluetoothTypes", "BLEAdapter", "AdapterFixtures", "BLEHost", "BLEVirtual", "BLEATT", "BLECrypto",
        "BLEGATT", "BLEHCI", "BLEWire",
      ]),
    tests(
      "BLEPeripheralTests",
      on: [
        "BLEPeripheral", "BLEVirtual", "BLEATT", "BLECrypto", "BLEGAP", "BLEGATT", "BLEHCI", "BLEHost", "BLESMP",
        "BLEWire",
      ]),
    tests("BLEVirtualTests", on: ["BLEVirtual", "BLECrypto", "BLEHCI", "BLEWire"]),
    tests(
      "BLEVirtualServerTests", on: ["BLEVirtualServer", "BLEVirtual", "BLEHCI", "BLEHost", "BLERuntime", "BLEWire"]),
    .testTarget(
      name: "BLETestingTests", dependencies: ["BLEHCI", "BLEKit", "BLETesting", "BLETwin", "CoreBluetooth"],
      packageAccess: false,
      swiftSettings: strict),
    tests("BLELinuxTests", on: ["BLELinux", "BLEWire"]),
    tests(
      "BLEKernelTests",
      on: [
        "BLEKernel", "BLEGATT", "BLEHCI", "BLEHost", "BLEL2CAP", "BLELinux", "BLESMP", "BLEWire", "CBluetoothLinux",
        "TestSupport",
      ]),
    tests(
      "BLERuntimeTests",
      on: [
        "BLERuntime", "BLECrypto", "BLEGATT", "BLEHost", "BLEKernel", "BLELinux", "BLEVirtual", "BLEHCI", "BLEWire",
      ]),
    tests("BLEJSONTests", on: ["BLEJSON"]),
    tests("ESPHomeAPITests", on: ["ESPHomeAPI", "BLECrypto", "BLEWire"], excluding: ["goldens.py"]),
    tests(
      "BLEAdapterTests",
      on: [
        "BLEAdapter", "AdapterFixtures", "BLEATT", "BLECrypto", "BLEGAP", "BLEGATT", "BLEHCI", "BLEHost", "BLEL2CAP",
        "BLELinux", "BLESMP", "BLEWire", "TestSupport",
      ]),
    .testTarget(
      name: "GatewayCoreTests", dependencies: ["GatewayCore", "BLEGAP", "BLEWire", "TestSupport", "ToolCore"],
      packageAccess: false, swiftSettings: strict),
    tests("BLEProfilesTests", on: ["BLEProfiles", "BLEAssignedNumbers", "BLEGAP", "TestSupport"]),
    tests(
      "BLEKitTests",
      on: [
        "BLEKit", "AdapterFixtures", "BLEAdapter", "BLEATT", "BLEGAP", "BLEGATT", "BLEHCI", "BLEHost", "BLEL2CAP",
        "BLESMP", "BLEWire", "TestSupport",
      ]),
    tests(
      "ESPHomeProxyTests",
      on: ["ESPHomeProxy", "BLECrypto", "BLEHost", "BLEKit", "BLELinux", "BLEProxy", "BLEWire", "ESPHomeAPI"]),
    tests(
      "BLEProxyTests",
      on: [
        "BLEProxy", "BLEKit", "AdapterFixtures", "BLEAdapter", "BLECrypto", "BLEGATT", "BLEHCI", "BLEHost",
        "BLEVirtual", "BLEWire", "TestSupport",
      ]),
    tests(
      "CoreBluetoothTypesTests",
      on: [
        "BluetoothLE", "CoreBluetoothTypes", "AdapterFixtures", "BLEAdapter", "BLELinux", "BLERuntime", "BLEHost",
        "BLEATT", "BLECrypto", "BLEGATT", "BLEGAP", "BLEHCI", "BLEL2CAP", "BLESMP", "BLEWire", "TestSupport",
      ]),
    tests(
      "ManagerModelTests",
      on: [
        "CoreBluetoothTypes", "ModelFixtures", "AdapterFixtures", "BLEAdapter", "BLEGATT", "BLEHost", "BLETesting",
        "BLEWire", "TestSupport",
      ]),
    tests(
      "KitModelTests",
      on: [
        "BLEKit", "ModelFixtures", "AdapterFixtures", "BLEAdapter", "BLEATT", "BLEGAP", "BLEHost",
        "BLEWire", "TestSupport",
      ]),
  ],
  swiftLanguageModes: [.v6]
)

if hasGateway {
  package.products.append(.executable(name: "ble-gateway", targets: ["ble-gateway"]))
  package.targets += [
    .systemLibrary(name: "CMosquitto", pkgConfig: "libmosquitto", providers: [.apt(["libmosquitto-dev"])]),
    .executableTarget(
      name: "ble-gateway",
      dependencies: [
        "CMosquitto", "GatewayCore", "BLEAdapter", "BLEGAP", "BLEGATT", "BLEKit", "BLELinux", "BLEWire", "ToolCore",
      ],
      swiftSettings: strict),
  ]
}

// The layers without examples and tests, and one program with all fuzzers: only the folder Fuzz sees internal declarations, by the
// flag -enable-testing of scripts/fuzz. The tool is a library there, whose entry has another name than `main`, as SwiftPM names
// those of programs for their tests.
if isFuzzing {
  let layers = package.targets.filter { $0.type == .system || $0.type == .regular && $0.path == nil }
  let tool = package.targets.first { $0.name == "ble" }
  package.products = [.executable(name: "fuzz", targets: ["fuzz"])]
  package.targets =
    layers + [
      programOutput,
      .target(
        name: "PeripheralDescription", dependencies: ["BluetoothLE", "ProgramOutput"],
        path: "Examples/ReferencePeripheral",
        exclude: ["main.swift", "ReferencePeripheral.swift"], packageAccess: false, swiftSettings: strict),
      .target(
        name: "ble", dependencies: tool?.dependencies ?? [], path: "Sources/ble",
        swiftSettings: strict + [
          .unsafeFlags(["-Xfrontend", "-entry-point-function-name", "-Xfrontend", "ble_main"])
        ]),
      .executableTarget(
        name: "fuzz",
        dependencies: [
          "BLEAdapter", "BLEATT", "BLECrypto", "BLEGAP", "BLEGATT", "BLEHCI", "BLEHost", "BLEKernel", "BLEKit",
          "BLEL2CAP", "BLELinux", "BLEProfiles", "BLERuntime", "BLESMP", "BLETrace", "BLETwin", "BLEVirtual", "BLEWire",
          "CoreBluetoothTypes", "ESPHomeAPI", "GatewayCore", "PeripheralDescription", "ToolCore", "ble",
        ], path: "Fuzz/Targets", swiftSettings: strict),
    ]
}

// scripts/test-sanitized names this module to the compiler as Synchronization.
if usesSanitizerLocks {
  for target in package.targets where target.type != .system { target.dependencies.append("SanitizerSynchronization") }
  package.targets.append(
    .target(name: "SanitizerSynchronization", path: "Tests/ThreadSanitizer", swiftSettings: strict))
}
