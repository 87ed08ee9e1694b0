import AdapterFixtures
import BLELinux
import Foundation
import Glibc
import Testing

@testable import BLEAdapter

/// Which files of bonds are read and replaced, and which are left as they are.
@Suite struct BondFileTrustTests {
  typealias Folder = BondFixtures.Folder

  /// Loads and saves, which have to fail with `part` in the error, and leave the file as it is.
  private func expectRefusal(_ path: String, _ part: String, _ location: SourceLocation = #_sourceLocation) {
    let before = FileManager.default.contents(atPath: path)
    let store = FileBondStore(path: path)
    for attempt in [{ _ = try store.load() }, { try store.save(BondFixtures.record(2)) }] {
      let error = #expect(throws: BondStoreError.self, sourceLocation: location, performing: attempt)
      #expect(error?.reason.contains(part) == true && error?.remedy.isEmpty == false, sourceLocation: location)
      #expect(error?.description.hasPrefix("\(path): the bonds cannot be ") == true, sourceLocation: location)
    }
    #expect(FileManager.default.contents(atPath: path) == before, sourceLocation: location)
  }

  @Test(arguments: [0o640, 0o604, 0o602, 0o620, 0o601]) func refusesAFileThatGroupOrOthersMayAccess(permissions: Int)
    throws
  {
    let folder = try BondFixtures.Folder()
    try FileBondStore(path: folder.file).save(BondFixtures.record(1))
    #expect(chmod(folder.file, mode_t(permissions)) == 0)
    expectRefusal(folder.file, "permissions are 0\(String(permissions, radix: 8))")
    // The remedy of the error.
    #expect(chmod(folder.file, 0o600) == 0)
    #expect(try FileBondStore(path: folder.file).load() == BondFixtures.record(1))
  }

  @Test(arguments: [0o770, 0o720, 0o702, 0o777, 0o1777]) func refusesAFolderThatGroupOrOthersMayWrite(
    permissions: Int
  ) throws {
    let folder = try BondFixtures.Folder()
    try FileBondStore(path: folder.file).save(BondFixtures.record(1))
    #expect(chmod(folder.path, mode_t(permissions)) == 0)
    expectRefusal(folder.file, "its folder has the permissions")
    let error = #expect(throws: BondStoreError.self) { try FileBondStore(path: folder.file).load() }
    #expect(error?.remedy.contains("chmod go-w") == (permissions != 0o1777), "a sticky folder is shared on purpose")
    #expect(chmod(folder.path, 0o755) == 0)
    #expect(try FileBondStore(path: folder.file).load() == BondFixtures.record(1))
  }

  @Test func refusesASymbolicLink() throws {
    let folder = try BondFixtures.Folder()
    let target = folder.path + "/target.json"
    try FileBondStore(path: target).save(BondFixtures.record(1))
    #expect(symlink(target, folder.file) == 0)
    expectRefusal(folder.file, "symbolic link")
    // One that leads nowhere, too: saving would make its target.
    #expect(unlink(folder.file) == 0 && symlink(folder.path + "/nowhere", folder.file) == 0)
    expectRefusal(folder.file, "symbolic link")
    #expect(!folder.names.contains("nowhere"))
  }

  @Test func refusesWhatIsNotARegularFile() throws {
    let folder = try BondFixtures.Folder()
    #expect(mkfifo(folder.file, 0o600) == 0)
    expectRefusal(folder.file, "not a regular file")
    #expect(unlink(folder.file) == 0 && mkdir(folder.file, 0o700) == 0)
    expectRefusal(folder.file, "not a regular file")
    expectRefusal(folder.path + "/", "not a regular file")
    expectRefusal("/dev/null", "not a regular file")
    #expect(folder.names == ["bonds.json"] && access("/dev/null.lock", F_OK) != 0, "no lock of what is not used")
  }

  /// A program of another user could give that file to us, or keep it open.
  @Test(.enabled(if: geteuid() == 0, "only root gives files away"))
  func refusesAFileOrFolderOfAnotherUser() throws {
    let folder = try BondFixtures.Folder()
    try FileBondStore(path: folder.file).save(BondFixtures.record(9, bonds: 1))
    #expect(chown(folder.file, 65534, 65534) == 0)
    expectRefusal(folder.file, "it belongs to user 65534")
    #expect(chown(folder.file, 0, 0) == 0 && chown(folder.path, 65534, 65534) == 0)
    expectRefusal(folder.file, "its folder belongs to user 65534")
  }

  /// Another user planted everything: the folder, the file, its permissions.
  @Test(.enabled(if: geteuid() == 0, "only root gives files away")) func refusesAPlantedStore() throws {
    let folder = try BondFixtures.Folder()
    try FileBondStore(path: folder.file).save(BondFixtures.record(9, bonds: 1))
    #expect(chown(folder.path, 65534, 65534) == 0)
    #expect(chown(folder.file, 65534, 65534) == 0)
    #expect(chmod(folder.file, 0o644) == 0)
    #expect(throws: BondStoreError.self) { try FileBondStore(path: folder.file).load() }
  }

  /// In a process of its own: its effective user changes.
  @Test(.enabled(if: geteuid() == 0, "only root becomes another user"))
  func aFileThatCouldNotBeReadIsNotReplaced() async {
    await #expect(processExitsWith: .success) {
      let folder = try BondFixtures.Folder()
      let before = BondFixtures.record(1, bonds: 5)
      try FileBondStore(path: folder.file).save(before)
      // The other user may do everything in the folder, and not read the file.
      try #require(chmod(folder.path, 0o777) == 0 && seteuid(65534) == 0)
      let store = FileBondStore(path: folder.file)
      #expect(throws: BondStoreError.self) { try store.load() }
      #expect(throws: BondStoreError.self) { try store.save(BondFixtures.record(2, bonds: 1)) }
      try #require(seteuid(0) == 0 && chmod(folder.path, 0o700) == 0)
      try #require(try FileBondStore(path: folder.file).load() == before)
    }
  }

  @Test func refusesAFileThatIsTooLong() throws {
    let folder = try BondFixtures.Folder()
    folder.write(Data())
    #expect(truncate(folder.file, 16 << 20 + 1) == 0)
    let error = #expect(throws: BondStoreError.self) { try FileBondStore(path: folder.file).load() }
    #expect(error?.reason.contains("longer") == true && folder.names == ["bonds.json"])
  }

  /// The lock is a file of ours that nobody else has: whoever could open it could keep us from saving.
  @Test func theLockIsOnAFileOfItsOwn() throws {
    let folder = try BondFixtures.Folder()
    let elsewhere = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    #expect(flock(elsewhere, LOCK_EX | LOCK_NB) == 0)
    _ = FileManager.default.createFile(
      atPath: folder.file + ".lock", contents: nil, attributes: [.posixPermissions: 0o666])
    let store = FileBondStore(path: folder.file, patience: .zero)
    try store.save(BondFixtures.record(1))
    #expect(folder.permissions(folder.file + ".lock") == 0o600)
    close(elsewhere)
    #expect(unlink(folder.file + ".lock") == 0 && symlink("/dev/null", folder.file + ".lock") == 0)
    let error = #expect(throws: BondStoreError.self) { try store.save(BondFixtures.record(2)) }
    #expect(error?.reason.contains("symbolic link") == true)
  }

  /// What another program left there is kept, and the log says where.
  @Test func aFileThatIsCorruptWhileSavingIsSetAsideAndReplaced() throws {
    let folder = try BondFixtures.Folder()
    let lines = Lines()
    let store = FileBondStore(path: folder.file, log: { lines.append($0.text) })
    try store.save(BondFixtures.record(1))
    _ = try store.load()
    #expect(lines.take().isEmpty)
    folder.write(Data("{".utf8))
    try store.save(BondFixtures.record(2))
    let said = lines.take()
    #expect(said.count == 1 && said.first?.contains(folder.file + ".corrupt-1") == true)
    #expect(FileManager.default.contents(atPath: folder.file + ".corrupt-1") == Data("{".utf8))
    #expect(try FileBondStore(path: folder.file).load() == BondFixtures.record(2))
  }

  /// A name relative to the working folder.
  @Test func aPathWithoutAFolderIsInTheWorkingFolder() async {
    await #expect(processExitsWith: .success) {
      let folder = try BondFixtures.Folder()
      try #require(chdir(folder.path) == 0)
      try FileBondStore(path: "bonds.json").save(BondFixtures.record(1))
      try #require(try FileBondStore(path: "./bonds.json").load() == BondFixtures.record(1))
      try #require(folder.names == ["bonds.json", "bonds.json.lock"])
    }
  }
}
