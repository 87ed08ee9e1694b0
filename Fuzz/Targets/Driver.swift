import Foundation

/// A harness as libFuzzer calls it.
typealias Harness = @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt

/// The entry of libFuzzer for a program with a `main` of its own (FuzzerInterface.h of LLVM).
@_silgen_name("LLVMFuzzerRunDriver")
private func runLibFuzzer(
  _ count: UnsafeMutablePointer<CInt>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>, _ harness: Harness
) -> CInt

/// What one run fuzzes, chosen by the environment variable `FUZZ_TARGET`. One program has all targets, because each
/// program would be linked with all instrumented layers.
enum FuzzTarget: String, CaseIterable {
  case decoders, advertising, server, client, pairing, channels, host, kernel, bonds, descriptions
  case gateway, bearers, tool, profiles, radio, identities
  case scans, updates, proxy

  static let chosen = ProcessInfo.processInfo.environment["FUZZ_TARGET"].flatMap(FuzzTarget.init(rawValue:))

  func run(_ input: inout FuzzInput) {
    switch self {
    case .decoders: fuzzDecoders(&input)
    case .advertising: fuzzAdvertising(&input)
    case .server: fuzzServer(&input)
    case .client: fuzzClient(&input)
    case .pairing: fuzzPairing(&input)
    case .channels: fuzzChannels(&input)
    case .host: fuzzHost(&input)
    case .kernel: fuzzKernel(&input)
    case .bonds: fuzzBonds(&input)
    case .descriptions: fuzzDescriptions(&input)
    case .gateway: fuzzGateway(&input)
    case .bearers: fuzzBearers(&input)
    case .tool: fuzzTool(&input)
    case .profiles: fuzzProfiles(&input)
    case .radio: fuzzRadio(&input)
    case .scans: fuzzScans(&input)
    case .identities: fuzzIdentities(&input)
    case .updates: fuzzUpdates(&input)
    case .proxy: fuzzProxy(&input)
    }
  }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ octets: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  var input = FuzzInput(unsafe UnsafeBufferPointer(start: octets, count: octets == nil ? 0 : count))
  FuzzTarget.chosen?.run(&input)
  return 0
}

/// SwiftPM links an executable with `<target>_main` as its `main`.
@_cdecl("fuzz_main")
public func fuzzMain(_ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> CInt {
  guard FuzzTarget.chosen != nil else {
    say("set FUZZ_TARGET to one of: \(FuzzTarget.allCases.map(\.rawValue).joined(separator: " "))")
    return 64
  }
  var (count, arguments) = (count, arguments)
  return unsafe runLibFuzzer(&count, &arguments, testOneInput)
}
