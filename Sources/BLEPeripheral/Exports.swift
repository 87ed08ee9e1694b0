@_exported public import BLEWire

// A program that imports BLEPeripheral also gets the types of other modules that occur in its API.
@_exported public import struct BLEATT.ATTErrorCode
@_exported public import protocol BLECrypto.Cryptography
@_exported public import enum BLECrypto.CryptographyError
@_exported public import struct BLECrypto.P256PrivateKey
@_exported public import struct BLECrypto.P256PublicKey
@_exported public import struct BLECrypto.RandomSource
@_exported public import struct BLECrypto.UInt256
@_exported public import enum BLEGAP.ADElement
@_exported public import struct BLEGAP.Advertisement
@_exported public import enum BLEGAP.AdvertisingDataError
@_exported public import struct BLEGATT.AccessRequirement
@_exported public import struct BLEGATT.AttributeID
@_exported public import enum BLEGATT.DatabaseError
@_exported public import struct BLEGATT.DescriptorDefinition
@_exported public import struct BLEGATT.GATTCharacteristicProperties
@_exported public import enum BLEGATT.SecurityLevel
@_exported public import struct BLEGATT.SecurityState
@_exported public import struct BLEGATT.Subscription
@_exported public import enum BLEHCI.H4Error
@_exported public import struct BLEHCI.HCIErrorCode
@_exported public import struct BLEHost.Bond
@_exported public import struct BLESMP.IOCapability
@_exported public import enum BLESMP.PairingAnswer
@_exported public import enum BLESMP.PairingQuestion
@_exported public import struct BLESMP.PairingQuestionID
@_exported public import struct BLESMP.PairingSettings
@_exported public import struct BLESMP.Passkey
