import CoreBluetooth

// mdoc holder|reader server|client SERVICE REQUEST DOCUMENT [--channel] [--killed-after OCTETS]
//
// REQUEST and DOCUMENT are files: the reader sends the first and writes the second, the holder the other way round.
let arguments = CommandLine.arguments
guard arguments.count >= 6, let role = Session.Role(rawValue: arguments[1]) else {
  fatalError("mdoc holder|reader server|client SERVICE REQUEST DOCUMENT")
}

let isServer = arguments[2] == "server"
let service = CBUUID(string: arguments[3])
let usesChannel = arguments.contains("--channel")
let octetsUntilKilled = arguments.firstIndex(of: "--killed-after").flatMap { Int(arguments[$0 + 1]) }
// The reader connects to a holder that is a server, and the other way round.
let profile: MdocProfile =
  isServer == (role == .holder) ? .peripheralServerMode(service) : .centralClientMode(service)
let transport: MdocTransport =
  isServer
  ? ServerTransport(profile: profile, offersChannel: usesChannel)
  : ClientTransport(profile: profile, wantsChannel: usesChannel)
let session = Session(
  role: role, transport: transport, request: URL(fileURLWithPath: arguments[4]),
  document: URL(fileURLWithPath: arguments[5]), octetsUntilKilled: octetsUntilKilled)
session.start()
RunLoop.main.run()
