import CoreBluetooth

// mesh-provisioning provisioner KEY OUTPUT [--segments OCTETS] [--killed-after MESSAGES]
// mesh-provisioning device KEY CERTIFICATE [--segments OCTETS] [--killed-after MESSAGES]
//
// KEY is the file of the public key, 64 octets.
let arguments = CommandLine.arguments
guard arguments.count >= 4 else { fatalError("mesh-provisioning provisioner|device KEY FILE") }

func number(after option: String) -> Int? {
  arguments.firstIndex(of: option).flatMap { Int(arguments[$0 + 1]) }
}

let publicKey = try Data(contentsOf: URL(fileURLWithPath: arguments[2]))
let file = URL(fileURLWithPath: arguments[3])
let segmentLength = number(after: "--segments")
let messagesUntilKilled = number(after: "--killed-after")
var provisioner: Provisioner?
var device: UnprovisionedDevice?

if arguments[1] == "provisioner" {
  provisioner = Provisioner(
    publicKey: publicKey, output: file, segmentLength: segmentLength, messagesUntilKilled: messagesUntilKilled)
  provisioner?.start()
  dispatchMain()
} else {
  device = UnprovisionedDevice(
    publicKey: publicKey, certificate: try Data(contentsOf: file), segmentLength: segmentLength,
    messagesUntilKilled: messagesUntilKilled)
  device?.start()
  RunLoop.main.run()
}
