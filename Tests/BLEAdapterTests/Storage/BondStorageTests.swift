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

/// When bonds are saved, and what happens where they cannot be loaded or saved.
@Suite struct BondStorageTests {
  /// A clock that stands still until it is moved, and a timer that runs then.
  final class Clock: Sendable {
    private struct State {
      var now = Instant.start
      var timers: [(due: Instant, body: @Sendable () -> Void)] = []
    }
    private let state = Mutex(State())

    var timing: BondStorage.Timing {
      BondStorage.Timing(
        now: { [self] in state.withLock { $0.now } },
        after: { [self] delay, body in state.withLock { $0.timers.append((due: $0.now + delay, body: body)) } })
    }

    /// Moves the clock on, from timer to timer.
    func advance(_ duration: Duration = .zero) {
      let end = state.withLock { $0.now + duration }
      while let body = state.withLock({ state -> (@Sendable () -> Void)? in
        guard let next = state.timers.indices.min(by: { state.timers[$0].due < state.timers[$1].due }),
          state.timers[next].due <= end
        else {
          state.now = end
          return nil
        }
        state.now = max(state.now, state.timers[next].due)
        return state.timers.remove(at: next).body
      }) { body() }
    }
  }

  /// A store that a test lets fail.
  final class Store: BondStore {
    struct Failure: Error, CustomStringConvertible { let description: String }
    let content: Mutex<BondRecord?>
    let saves = Mutex<[BondRecord]>([])
    let loadFailure = Mutex<String?>(nil)
    let saveFailure = Mutex<String?>(nil)
    let attempts = Mutex(0)
    /// Called by each save.
    let whileSaving = Mutex<(@Sendable () -> Void)?>(nil)

    init(_ content: BondRecord? = nil) { self.content = Mutex(content) }

    func load() throws -> BondRecord? {
      if let failure = loadFailure.withLock({ $0 }) { throw Failure(description: failure) }
      return content.withLock { $0 }
    }

    func save(_ record: BondRecord) throws {
      attempts.withLock { $0 += 1 }
      whileSaving.withLock { $0 }?()
      if let failure = saveFailure.withLock({ $0 }) { throw Failure(description: failure) }
      content.withLock { $0 = record }
      saves.withLock { $0.append(record) }
    }

    var saveCount: Int { saves.withLock { $0.count } }
  }

  private let store = Store()
  private let clock = Clock()
  private let lines = Lines()

  private func keeper() -> BondStorage {
    BondStorage(store, log: { [lines] in lines.append($0.text) }, timing: clock.timing)
  }

  /// The host waits with sign counters until their bond is stored.
  @Test func theHostLearnsWhatIsStored() {
    let keeper = keeper()
    let stored = Mutex<[[Bond]]>([])
    keeper.report { command in
      if case .security(.bondsStored(let bonds)) = command { stored.withLock { $0.append(bonds) } }
    }
    var bond = Self.bond(1)
    bond.peerSignCounter = 0
    store.saveFailure.withLock { $0 = "full" }
    keeper.receive(.changed(bond))
    clock.advance()
    #expect(stored.withLock { $0 }.isEmpty)
    store.saveFailure.withLock { $0 = nil }
    bond.peerSignCounter += 1
    keeper.receive(.changed(bond))
    clock.advance(.seconds(10))
    #expect(stored.withLock { $0 } == [[bond]])
    bond.peerSignCounter += 1
    keeper.receive(.changed(bond))
    clock.advance()
    #expect(stored.withLock { $0.last } == [bond])
  }

  /// What a storage has reported of a bond: nil without a report.
  private func confirmation(_ keeper: BondStorage, _ bond: Bond) async -> String? {
    await withCheckedContinuation { task in
      keeper.confirm(bond.identity) { error in task.resume(returning: error.map { "\($0)" }) }
    }
  }

  /// A pairing ends when its bond is stored, or with the reason why it is not.
  @Test func aBondIsConfirmedWhenItIsStored() async {
    let keeper = keeper()
    let (bond, other) = (Self.bond(1), Self.bond(2))
    #expect(await confirmation(keeper, bond) == nil && store.attempts.withLock { $0 } == 0, "there is no bond")
    keeper.receive(.changed(bond))
    // It does not wait for the timer.
    #expect(await confirmation(keeper, bond) == nil)
    #expect(store.content.withLock { $0 }?.bonds == [bond])
    store.saveFailure.withLock { $0 = "the disk is full" }
    keeper.receive(.changed(other))
    #expect(await confirmation(keeper, other) == "the disk is full")
    #expect(await confirmation(keeper, bond) == nil, "it was stored before")
    #expect(await confirmation(keeper, other) == "the disk is full")
    #expect(store.attempts.withLock { $0 } == 2, "the attempt that has failed is not repeated for each question")
    // Notes of a bond are no keys.
    keeper.receive(.changed(Self.subscribed(bond, 1)))
    #expect(await confirmation(keeper, bond) == nil)
    store.saveFailure.withLock { $0 = nil }
    #expect(await confirmation(keeper, other) == nil, "another change was made since")
    #expect(store.content.withLock { $0 }?.bonds == [Self.subscribed(bond, 1), other])
    keeper.receive(.removed(other.identity))
    #expect(await confirmation(keeper, other) == nil)
  }

  /// The bonds of a store that is not readable are not stored, whatever was paired.
  @Test func aBondIsNotConfirmedWhileTheStoreIsUnreadable() async {
    store.loadFailure.withLock { $0 = "not now" }
    let keeper = keeper()
    let bond = Self.bond(1)
    keeper.receive(.changed(bond))
    #expect(await confirmation(keeper, bond) == "not now")
    #expect(store.saveCount == 0)
  }

  private static func bond(_ seed: UInt64) -> Bond { BondFixtures.record(seed, bonds: 1).bonds[0] }

  private static func subscribed(_ bond: Bond, _ number: Int) -> Bond {
    var bond = bond
    let value: Subscription = number.isMultiple(of: 2) ? [.notify] : []
    bond.client.configurations = [.init(descriptor: AttributeHandle(rawValue: 7), value: value)]
    bond.peerSignCounter = UInt32(clamping: number)
    return bond
  }

  /// A peer that turns a subscription on and off costs one write a second.
  @Test func aTogglingSubscriberIsSavedOnceASecond() {
    let keeper = keeper()
    let bond = Self.bond(1)
    keeper.receive(.changed(bond))
    clock.advance()
    #expect(store.saveCount == 1)
    for number in 0..<200 {
      keeper.receive(.changed(Self.subscribed(bond, number)))
      clock.advance(.milliseconds(10))
    }
    #expect(store.saveCount == 4, "one for the bond, and one each second from 0 to 2")
    #expect(store.content.withLock { $0 }?.bonds == [Self.subscribed(bond, 199)])
    keeper.receive(.changed(Self.subscribed(bond, 199)))
    clock.advance(.seconds(5))
    #expect(store.saveCount == 4, "nothing has changed")
  }

  /// A store that does not return from one save. The host and its managers go on, and one save has all that changed
  /// meanwhile.
  @Test func aSlowStoreDelaysNobody() {
    let keeper = keeper()
    let (begun, mayEnd, saved) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchGroup())
    store.whileSaving.withLock {
      $0 = {
        begun.signal()
        mayEnd.wait()
      }
    }
    keeper.receive(.changed(Self.bond(1)))
    DispatchQueue(label: "saving").async(group: saved) { [clock] in clock.advance() }
    begun.wait()
    for seed in 2...5 { keeper.receive(.changed(Self.bond(UInt64(seed)))) }
    #expect(keeper.bonds.count == 5 && keeper.commands(PairingOptions()).count == 3)
    store.whileSaving.withLock { $0 = nil }
    mayEnd.signal()
    saved.wait()
    clock.advance(.seconds(1))
    #expect(store.saves.withLock { $0.map(\.bonds.count) } == [1, 5])
  }

  /// The end of a program: the last client has left during a save, and the process must not end before it.
  @Test func aSaveOfAStorageThatIsGoneIsWaitedFor() {
    var keeper: BondStorage? = BondStorage(store, log: { _ in })
    let (begun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    store.whileSaving.withLock {
      $0 = {
        begun.signal()
        mayEnd.wait()
      }
    }
    keeper?.receive(.changed(Self.bond(1)))
    begun.wait()
    keeper = nil
    #expect(!BondStorage.waitForSaves(atMost: .zero))
    mayEnd.signal()
    #expect(BondStorage.waitForSaves(atMost: .seconds(1_000_000)))
    #expect(store.saveCount == 1)
  }

  @Test func aChangeOfTrustIsSavedAtOnce() {
    let keeper = keeper()
    let (one, two) = (Self.bond(1), Self.bond(2))
    keeper.receive(.changed(one))
    clock.advance()
    keeper.receive(.changed(two))
    clock.advance()
    #expect(store.saveCount == 2)
    var anew = one
    anew.peripheralKey = two.peripheralKey
    keeper.receive(.changed(anew))
    clock.advance()
    #expect(store.saveCount == 3)
    keeper.receive(.removed(one.identity))
    clock.advance()
    #expect(store.saveCount == 4 && store.content.withLock { $0 }?.bonds == [two])
  }

  @Test func whatWaitsIsSavedWhenThingsSettleAndWhenTheKeeperEnds() {
    var keeper: BondStorage? = keeper()
    let bond = Self.bond(1)
    for number in 0..<2 { keeper?.receive(.changed(Self.subscribed(bond, number))) }
    keeper?.settle()
    keeper?.receive(.changed(Self.subscribed(bond, 2)))
    keeper?.settle()
    #expect(store.saveCount == 2 && store.content.withLock { $0 }?.bonds == [Self.subscribed(bond, 2)])
    keeper?.receive(.changed(Self.subscribed(bond, 3)))
    keeper = nil
    #expect(store.saveCount == 3 && store.content.withLock { $0 }?.bonds == [Self.subscribed(bond, 3)])
    clock.advance(.seconds(90))
    #expect(store.saveCount == 3)
  }

  @Test func aFailedSaveIsRepeatedWithOneLine() {
    let keeper = keeper()
    store.saveFailure.withLock { $0 = "the disk is full" }
    keeper.receive(.changed(Self.bond(1)))
    clock.advance()
    #expect(lines.take() == ["bonds are kept in memory, and saving is tried again: the disk is full"])
    clock.advance(.seconds(600))
    #expect(store.attempts.withLock { $0 } == 15 && lines.take().isEmpty)
    for seed: UInt64 in 2..<100 { keeper.receive(.changed(Self.bond(seed))) }
    clock.advance()
    #expect(store.attempts.withLock { $0 } == 15, "more changes do not make more attempts")
    store.saveFailure.withLock { $0 = nil }
    clock.advance(.seconds(60))
    #expect(lines.take() == ["bonds are saved again, after 15 failed attempts"])
    #expect(store.content.withLock { $0 }?.bonds.count == 99 && store.saveCount == 1)
  }

  @Test func theLastAttemptSaysThatBondsAreLost() {
    let keeper = keeper()
    store.saveFailure.withLock { $0 = "the disk is full" }
    keeper.receive(.changed(Self.bond(1)))
    clock.advance()
    _ = lines.take()
    keeper.settle(isLast: true)
    #expect(lines.take() == ["bonds that changed are lost: the disk is full"])
    store.saveFailure.withLock { $0 = nil }
    keeper.settle(isLast: true)
    #expect(store.saveCount == 1)
  }

  /// Otherwise the bonds of a store that is unreadable for a moment would be replaced by those of this run.
  @Test func aStoreThatCouldNotBeLoadedIsNotSavedTo() {
    let known = BondFixtures.record(5, bonds: 4)
    store.content.withLock { $0 = known }
    store.loadFailure.withLock { $0 = "not now" }
    let keeper = keeper()
    #expect(lines.take() == ["not now"] && keeper.bonds.isEmpty)
    keeper.shareKey()
    let new = Self.bond(1)
    keeper.receive(.changed(new))
    keeper.receive(.changed(known.bonds[1]))
    keeper.receive(.removed(known.bonds[1].identity))
    clock.advance(.seconds(90))
    keeper.settle()
    #expect(store.attempts.withLock { $0 } == 0 && keeper.bonds == [new])
    #expect(lines.take() == ["bonds are kept in memory, and saving is tried again: not now"])
    let key = Self.key(keeper)
    store.loadFailure.withLock { $0 = nil }
    clock.advance(.seconds(60))
    // What it held, what is new, and without the device that the user has removed.
    let expected = [new, known.bonds[0], known.bonds[2], known.bonds[3]]
    #expect(store.content.withLock { $0 }?.bonds == expected && keeper.bonds == expected)
    #expect(store.content.withLock { $0 }?.identityResolvingKey == known.identityResolvingKey)
    #expect(Self.key(keeper) == key, "peers of this run were given it")
    #expect(lines.take().first == "bonds of 4 devices are loaded now")
  }

  /// Of more, those that were removed first are loaded again.
  @Test(arguments: [0, 1]) func removalsBeforeTheStoreIsLoadedAreLimited(more: Int) {
    let known = BondFixtures.record(5, bonds: BondStorage.removedLimit + more)
    store.content.withLock { $0 = known }
    store.loadFailure.withLock { $0 = "not now" }
    let keeper = keeper()
    for bond in known.bonds { keeper.receive(.removed(bond.identity)) }
    store.loadFailure.withLock { $0 = nil }
    clock.advance(.seconds(60))
    #expect(keeper.bonds == Array(known.bonds.prefix(more)))
  }

  private static func key(_ keeper: BondStorage) -> SecretKey? {
    if case .security(.setPairing(let settings?)) = keeper.commands(PairingOptions())[1] {
      settings.identityResolvingKey
    } else {
      nil
    }
  }

  /// It has been set aside by then, so that nothing is overwritten.
  @Test func aCorruptFileIsReplacedAfterItWasSetAside() throws {
    let folder = try BondFixtures.Folder()
    folder.write(Data("{".utf8))
    let (file, lines) = (FileBondStore(path: folder.file), lines)
    let keeper = BondStorage(file, log: { lines.append($0.text) }, timing: clock.timing)
    #expect(lines.take().first?.contains("corrupt-1") == true)
    keeper.receive(.changed(Self.bond(1)))
    keeper.settle()
    #expect(try FileBondStore(path: folder.file).load()?.bonds == [Self.bond(1)] && lines.take().isEmpty)
    #expect(folder.names == ["bonds.json", "bonds.json.corrupt-1", "bonds.json.lock"])
  }

  /// A program that shares the store wrote a bond between our load and our key.
  @Test func sharingTheKeyKeepsTheBondsOfOthers() throws {
    let folder = try BondFixtures.Folder()
    let keeper = BondStorage(FileBondStore(path: folder.file), log: { _ in }, timing: clock.timing)
    let theirs = BondFixtures.record(4, bonds: 2)
    try FileBondStore(path: folder.file).save(theirs)
    keeper.shareKey()
    keeper.receive(.changed(Self.bond(1)))
    keeper.settle()
    #expect(try FileBondStore(path: folder.file).load()?.bonds == theirs.bonds + [Self.bond(1)])
  }
}
