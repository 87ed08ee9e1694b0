import BLEVirtual
import BLEVirtualServer

/// Serves controllers with one small buffer on a free port of this machine.
///
/// - Returns: the server, which runs until it is ended, and the transport string for hosts.
func serveSmallControllers(
  log: @escaping @Sendable (String) -> Void
) throws(VirtualRadioServerError) -> (server: VirtualRadioServer, transport: String) {
  var configuration = VirtualRadioServer.Configuration()
  configuration.controller.aclDataPacketLength = 27
  configuration.controller.totalNumACLDataPackets = 1
  configuration.log = log
  let server = VirtualRadioServer(configuration)
  let transport = try server.listen(on: .tcp(host: "127.0.0.1", port: 0))
  return (server, transport)
}
