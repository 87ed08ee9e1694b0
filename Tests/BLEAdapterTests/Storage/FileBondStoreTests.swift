import AdapterFixtures
import BLEATT
import BLECrypto
import BLEGATT
import BLEHost
import BLELinux
import BLESMP
import BLEWire
import Foundation
import Synchronization
import Testing

@testable import BLEAdapter

@Suite struct FileBondStoreTests {
  /// A file of a version that did not store when a bond was used.
  @Test func readsBondsWithoutALastUse() throws {
    let folder = try BondFixtures.Folder()
    let (store, record) = (FileBondStore(path: folder.file), BondFixtures.record(1))
    try store.save(record)
    var text = try String(contentsOfFile: folder.file, encoding: .utf8)
    let pattern = try Regex(#""lastUse" : [0-9]+,\s*"#)
    #expect(text.matches(of: pattern).count == 3)
    text.replace(pattern, with: "")
    folder.write(Data(text.utf8))
    let loaded = try #require(try store.load())
    #expect(
      loaded.bonds.map(\.lastUse) == [0, 0, 0]
        && loaded.bonds.map(\.identifier) == record.bonds.map(\.identifier))
  }

  @Test func whatIsSavedIsLoaded() throws {
    let folder = try BondFixtures.Folder()
    let store = FileBondStore(path: folder.file)
    #expect(try store.load() == nil)
    for bonds in [0, 1, 20] {
      let record = BondFixtures.record(UInt64(bonds), bonds: bonds)
      try store.save(record)
      #expect(try FileBondStore(path: folder.file).load() == record)
    }
    #expect(folder.names == ["bonds.json", "bonds.json.lock"])
  }

  /// The file, its lock and the folders that were missing, whatever the mask of the process says.
  @Test func onlyTheOwnerMayReadIt() async {
    await #expect(processExitsWith: .success) {
      for mask: mode_t in [0, 0o777] {
        let folder = try BondFixtures.Folder()
        umask(mask)
        defer { umask(0o022) }
        let store = FileBondStore(path: folder.file)
        try store.save(BondFixtures.record(1))
        try #require(folder.permissions(folder.file) == 0o600)
        try #require(folder.permissions(folder.file + ".lock") == 0o600)
        umask(0o022)
        let deeper = folder.path + "/deeper/still/bonds.json"
        try FileBondStore(path: deeper).save(BondFixtures.record(1))
        try #require(folder.permissions(folder.path + "/deeper") == 0o700)
        try #require(folder.permissions(folder.path + "/deeper/still") == 0o700)
      }
    }
  }

  private struct Killed: Error {}

  /// The program ends between any two steps of a write: there is the old file or the new one, and the next write finds
  /// nothing in its way.
  @Test(arguments: FileBondStore.Step.allCases) func aKillLeavesTheOldOrTheNewFile(step: FileBondStore.Step) throws {
    for keepsDebris in [true, false] {
      let folder = try BondFixtures.Folder()
      let (old, new) = (BondFixtures.record(1), BondFixtures.record(2))
      try FileBondStore(path: folder.file).save(old)
      let debris = Mutex<[String: Data]>([:])
      let path = folder.path
      let interruption: @Sendable (FileBondStore.Step) throws -> Void = { reached in
        guard reached == step else { return }
        // What a killed process cannot clean up any more.
        debris.withLock { debris in
          for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] where name.hasSuffix(".new") {
            debris[name] = FileManager.default.contents(atPath: path + "/" + name)
          }
        }
        throw Killed()
      }
      let store = FileBondStore(path: folder.file, interruption: interruption)
      #expect(throws: Killed.self) { try store.save(new) }
      if keepsDebris {
        for (name, data) in debris.withLock({ $0 }) {
          _ = FileManager.default.createFile(atPath: path + "/" + name, contents: data)
        }
      }
      #expect(try FileBondStore(path: folder.file).load() == (step == .renamed ? new : old))
      try FileBondStore(path: folder.file).save(new)
      #expect(try FileBondStore(path: folder.file).load() == new)
      #expect(folder.names == ["bonds.json", "bonds.json.lock"])
    }
  }

  /// Whatever of a file is missing, it is never read in part: it is set aside, whole, and the error says where.
  @Test func aCorruptFileIsSetAside() throws {
    let folder = try BondFixtures.Folder()
    let store = FileBondStore(path: folder.file)
    try store.save(BondFixtures.record(1))
    let good = try #require(FileManager.default.contents(atPath: folder.file))
    var bad = stride(from: 0, to: good.count - 2, by: 97).map { good.prefix($0) }
    bad.append(Data("{\"version\":0,\"bonds\":[]}".utf8))
    bad.append(Data("{\"bonds\":[]}".utf8))
    bad.append(Data([0xFF, 0, 1]))
    for (number, octets) in bad.enumerated() {
      folder.write(octets)
      let error = #expect(throws: BondStoreError.self) { try store.load() }
      let aside = "\(folder.file).corrupt-\(number + 1)"
      #expect(error?.description.contains(aside) == true)
      #expect(FileManager.default.contents(atPath: aside) == octets)
      #expect(try store.load() == nil)
    }
  }

  /// The file of a program that knows more: nothing in it is lost, and the error says whose it is.
  @Test func aFileOfANewerVersionStays() throws {
    let folder = try BondFixtures.Folder()
    let file = Data(
      "{\"version\": 2, \"program\": \"BluetoothLE 9.1\", \"bonds\": [], \"groups\": {\"7\": \"kitchen\"}}".utf8)
    folder.write(file)
    let store = FileBondStore(path: folder.file)
    for attempt in [{ _ = try store.load() }, { _ = try store.contents() }, { try store.save(BondFixtures.record(1)) }]
    {
      let error = try #require(throws: BondStoreError.self) { try attempt() }
      #expect(error.reason == "it has version 2, written by BluetoothLE 9.1, and this program reads version 1")
      #expect(error.remedy.hasPrefix("Use the program that wrote it or a newer one, or name another file"))
    }
    #expect(FileManager.default.contents(atPath: folder.file) == file)
    #expect(folder.names.filter { !$0.hasSuffix(".lock") } == ["bonds.json"])
  }

  /// What a list of bonds needs leaves the folder as it is.
  @Test func contentsChangeNothing() throws {
    let folder = try BondFixtures.Folder()
    let store = FileBondStore(path: folder.file)
    #expect(try store.contents() == nil)
    #expect(folder.names == [])
    folder.write(Data("junk".utf8))
    let unfinished = folder.file + ".4194305.new"
    _ = FileManager.default.createFile(atPath: unfinished, contents: Data("a part".utf8))
    let error = try #require(throws: BondStoreError.self) { try store.contents() }
    #expect(error.reason == "it is not a file of bonds" && error.remedy.hasPrefix("Remove it"))
    #expect(folder.names == ["bonds.json", "bonds.json.4194305.new"])
    #expect(FileManager.default.contents(atPath: folder.file) == Data("junk".utf8))
  }

  /// Killed writers leave files that may have keys. The next start removes them, but not while another program writes.
  @Test func whatKilledWritersHaveLeftIsRemovedAtTheNextStart() throws {
    let folder = try BondFixtures.Folder()
    let record = BondFixtures.record(1)
    try FileBondStore(path: folder.file).save(record)
    let others = ["bonds.json.new", "bonds.json.x1.new", "bonds.json.1.old", "other.json.1.new"]
    for name in others + ["bonds.json.1.new", "bonds.json.4194305.new"] {
      _ = FileManager.default.createFile(atPath: folder.path + "/" + name, contents: Data())
    }
    let before = folder.names
    let elsewhere = lockElsewhere(folder)
    #expect(try FileBondStore(path: folder.file).load() == record)
    #expect(folder.names == before)
    close(elsewhere)
    #expect(try FileBondStore(path: folder.file).load() == record)
    #expect(folder.names == (others + ["bonds.json", "bonds.json.lock"]).sorted())
  }

  /// The remedy is about the cause: a full disk is not a question of permissions.
  @Test(arguments: [
    (ENOSPC, "Make room on the file system of /var/lib/clock, or name another file"),
    (EDQUOT, "Make room on the file system of /var/lib/clock, or name another file"),
    (EROFS, "Its file system is read-only: mount it for writing, or name another file"),
    (EACCES, "Make the folder /var/lib/clock writable for this program, or name another file"),
  ])
  func theRemedyIsAboutTheCause(number: Int32, remedy: String) {
    let error = BondStoreError(
      "/var/lib/clock/bonds.json", "the bonds cannot be saved", .failed(SystemError(.write, number)))
    #expect(error.remedy.hasPrefix(remedy))
  }

  /// Two programs have loaded the same file: each writes what it changed, and nothing of the other's is lost.
  @Test func twoWritersKeepWhatEachChanged() throws {
    let folder = try BondFixtures.Folder()
    let (one, two) = (FileBondStore(path: folder.file), FileBondStore(path: folder.file))
    let base = BondFixtures.record(1, bonds: 4)
    try one.save(base)
    _ = (try one.load(), try two.load())
    var (first, second) = (base, base)
    let (forFirst, forSecond) = (BondFixtures.record(2, bonds: 1).bonds[0], BondFixtures.record(3, bonds: 1).bonds[0])
    // Made here and there; removed by the first; changed by the second; changed by both.
    first.bonds.append(forFirst)
    second.bonds.append(forSecond)
    first.bonds.remove(at: 1)
    func changed(_ bond: Bond, peer: UInt32, own: UInt32) -> Bond {
      var record = bond
      (record.peerSignCounter, record.ownSignCounter) = (peer, own)
      return record
    }
    second.bonds[2] = changed(base.bonds[2], peer: .max, own: 9)
    first.bonds[2] = changed(base.bonds[3], peer: 30, own: 31)
    second.bonds[3] = changed(base.bonds[3], peer: 40, own: 30)
    try one.save(first)
    try two.save(second)
    let expected = [
      base.bonds[0], changed(base.bonds[2], peer: .max, own: 9), changed(base.bonds[3], peer: 40, own: 31), forSecond,
      forFirst,
    ]
    let found = try #require(try FileBondStore(path: folder.file).load()?.bonds)
    #expect(found.map(\.identifier) == expected.map(\.identifier) && found == expected)
    // What the other wrote is not this one's to remove, nor does it come back once its writer has removed it.
    try two.save(second)
    #expect(try FileBondStore(path: folder.file).load()?.bonds.contains(forFirst) == true)
    first.bonds.removeAll { $0.identifier == forFirst.identifier }
    try one.save(first)
    try two.save(second)
    #expect(try FileBondStore(path: folder.file).load()?.bonds.contains(forFirst) == false)
    #expect(folder.names == ["bonds.json", "bonds.json.lock"])
  }

  /// A clock that each wait moves. At a given time the other program is done.
  private final class Clock: Sendable {
    private let time = Mutex(Instant.start)
    let other: Int32
    let end: Instant?

    init(_ other: Int32, end: Duration?) {
      (self.other, self.end) = (other, end.map { .start + $0 })
    }

    var now: Instant { time.withLock { $0 } }
    var lock: FileLock.Clock {
      FileLock.Clock(
        now: { self.now },
        wait: { duration in
          let now = self.time.withLock { time in
            time = time + duration
            return time
          }
          if let end = self.end, end <= now { flock(self.other, LOCK_UN) }
        })
    }
  }

  private func lockElsewhere(_ folder: BondFixtures.Folder) -> Int32 {
    let elsewhere = open(folder.file + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    #expect(flock(elsewhere, LOCK_EX | LOCK_NB) == 0)
    return elsewhere
  }

  @Test func aFileThatIsBeingWrittenElsewhereIsWaitedForAndThenGivenUp() throws {
    let folder = try BondFixtures.Folder()
    let elsewhere = lockElsewhere(folder)
    let clock = Clock(elsewhere, end: nil)
    let store = FileBondStore(path: folder.file, clock: clock.lock)
    let error = #expect(throws: BondStoreError.self) { try store.save(BondFixtures.record(1)) }
    #expect(error?.description.contains("another program") == true)
    #expect(clock.now == .start + .seconds(2))
    close(elsewhere)
    try store.save(BondFixtures.record(1))
    #expect(try store.load() == BondFixtures.record(1))
    #expect(clock.now == .start + .seconds(2))
  }

  @Test func aFileThatWasBeingWrittenElsewhereIsSaved() throws {
    let folder = try BondFixtures.Folder()
    let elsewhere = lockElsewhere(folder)
    let clock = Clock(elsewhere, end: .milliseconds(1995))
    let store = FileBondStore(path: folder.file, clock: clock.lock)
    try store.save(BondFixtures.record(1))
    #expect(clock.now == .start + .milliseconds(1995))
    #expect(try store.load() == BondFixtures.record(1))
    close(elsewhere)
  }

  @Test func whereNothingCanBeWrittenTheErrorSaysWhy() throws {
    let error = #expect(throws: BondStoreError.self) {
      try FileBondStore(path: "/proc/nowhere/bonds.json").save(BondFixtures.record(1))
    }
    #expect(error?.description.contains("/proc/nowhere/bonds.json") == true)
  }

  /// Neither a record's descriptions nor the errors about a file of keys hold a key.
  @Test func descriptionsHoldNoSecrets() throws {
    let folder = try BondFixtures.Folder()
    let record = BondFixtures.record(5)
    var text = "\(record) \(record.bonds) \(String(reflecting: record))"
    dump(record, to: &text)
    let store = FileBondStore(path: folder.file)
    try store.save(record)
    var whole = try String(contentsOfFile: folder.file, encoding: .utf8)
    for key in BondFixtures.keys(of: record) {
      // One digit too few: the decoder stumbles over this very key.
      let digits = key.value.bigEndianOctets.hexadecimal
      #expect(whole.contains(digits))
      let broken = whole.replacingOccurrences(of: digits, with: String(digits.dropLast()))
      folder.write(Data(broken.utf8))
      let error = #expect(throws: BondStoreError.self) { try store.load() }
      text += error?.description ?? ""
      whole = whole.replacingOccurrences(of: digits, with: digits)
    }
    for key in BondFixtures.keys(of: record) {
      #expect(!text.contains(key.value.bigEndianOctets.hexadecimal.prefix(16)) && !text.contains("\(key.value)"))
    }
  }
}
