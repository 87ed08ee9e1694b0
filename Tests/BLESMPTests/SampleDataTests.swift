import BLECrypto
import BLESMP
import Testing

/// Functions that no pairing of an LE host calls, with the sample data of the specifications (Vol 3, Part H, Appendix
/// D; Coordinated Set Identification Service, Appendix A). The suites of vectors have more cases, where their folder
/// is.
@Suite struct SampleDataTests {
  private let toolbox = SecurityToolbox(LibCrypto())

  @Test func keysAreDerivedFromKeys() throws {
    let key: UInt128 = 0xEC02_34A3_57C8_AD05_3410_10A6_0A39_7D9B
    #expect(try toolbox.h6(w: key, keyID: 0x6C65_6272) == 0x2D9A_E102_E76D_C91C_E8D3_A9E2_80B1_6399)
    #expect(try toolbox.h7(salt: 0x746D_7031, w: key) == 0xFB17_3597_C6A3_C0EC_D299_8C2A_75A5_7011)
  }

  @Test(arguments: [
    (false, 0xBC1C_A4EF_633F_C1BD_0D82_30AF_EE38_8FB0 as UInt128),
    (true, 0x287A_D379_DCA4_0253_0A39_F1F4_3047_B835),
  ])
  func aLinkKeyIsDerivedFromAnLTK(ct2: Bool, linkKey: UInt128) throws {
    let ltk: UInt128 = 0x368D_F9BC_E326_4B58_BD06_6C33_334F_BF64
    #expect(try toolbox.linkKey(fromLTK: ltk, ct2: ct2) == linkKey)
  }

  @Test(arguments: [
    (false, 0xA813_FB72_F1A3_DFA1_8A2C_9A43_F10D_0A30 as UInt128),
    (true, 0xE85E_09EB_5ECC_B3E2_6941_8A13_3211_BC79),
  ])
  func anLTKIsDerivedFromALinkKey(ct2: Bool, ltk: UInt128) throws {
    let linkKey: UInt128 = 0x0504_0302_0100_0908_0706_0504_0302_0100
    #expect(try toolbox.ltk(fromLinkKey: linkKey, ct2: ct2) == ltk)
  }

  @Test func theKeyAndTheIdentifierOfASet() throws {
    let sirk: UInt128 = 0x457D_7D09_21A1_FD22_CECD_8C86_DD72_CCCD
    #expect(try toolbox.sih(k: sirk, r: 0x69_F563) == 0x19_48DA)
    let key: UInt128 = 0x676E_1B9B_D448_696F_061E_C622_3CE5_CED9
    let encrypted: UInt128 = 0x170A_3835_E135_24A0_7E25_62D5_F25F_D346
    #expect(try toolbox.sef(k: key, sirk: sirk) == encrypted)
    // The function is its own inverse.
    #expect(try toolbox.sef(k: key, sirk: encrypted) == sirk)
  }
}
