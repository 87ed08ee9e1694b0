/// The kinds of case in `smp.json`, which several suites read.
public enum SMPVectorKinds {
  public static let primitives: Set = ["aes-128", "aes-cmac", "p256-public-key", "ecdh"]
  public static let functions: Set = [
    "c1", "s1", "f4", "f5", "f6", "g2", "h6", "h7", "ah", "sih", "sef", "rpa-resolve", "ltk-to-link-key",
    "link-key-to-ltk", "att-signature", "att-signature-verify", "association-model",
  ]
  public static let pairings: Set = ["pairing", "pairing-refused"]
  public static let pdus: Set = ["pdu", "pdu-malformed"]
  public static let all = primitives.union(functions).union(pairings).union(pdus)
}
