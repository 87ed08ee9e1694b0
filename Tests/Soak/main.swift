import BLEHost
import Foundation

// A soak of the host on the simulated radio, with faults throughout; scripts/soak runs it.
//
//     soak --pdus 10000000 [--seconds 20] [--links 50] [--seed 1] [--samples FILE] [--planted]
//     soak --train 60 [--seed 1] [--planted]       so many minutes of virtual time with a train of periodic advertising
//
// It ends with one line, and with status 1 if a promise was broken or memory or descriptors grew.

/// The value of an option as a number.
func option(_ name: String, _ standard: Int) -> Int {
  let arguments = CommandLine.arguments
  guard let index = arguments.firstIndex(of: "--\(name)"), index + 1 < arguments.count else { return standard }
  return Int(arguments[index + 1]) ?? standard
}

/// The memory and the descriptors of this process.
struct Sample {
  var packets: Int
  var kilobytes: Int
  var descriptors: Int
  var links: Int

  init(packets: Int, links: Int) {
    (self.packets, self.links) = (packets, links)
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
    kilobytes = line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
  }
}

/// Performs the soak of a train.
///
/// - Returns: the exit status.
@MainActor func soakTrain(_ minutes: Int) -> Int32 {
  var soak = TrainSoak(
    seed: UInt64(option("seed", 1)), hasPlantedFault: CommandLine.arguments.contains("--planted"))
  var samples: [Sample] = []
  for minute in 0..<minutes where soak.violations.isEmpty {
    soak.step()
    samples.append(Sample(packets: minute, links: 0))
  }
  let (first, last, grown) = growth(samples)
  let problems = soak.violations + grown
  for problem in problems { print("soak: \(problem)") }
  let results: [String] = [
    "\(samples.count) minutes of a train", "\(soak.whole) reports whole", "\(soak.marked) marked",
    "\(soak.losses) losses", "\(first?.kilobytes ?? 0) to \(last?.kilobytes ?? 0) KB",
    problems.isEmpty ? "no promise broken" : "\(problems.count) problems",
  ]
  print("soak: \(results.joined(separator: ", "))")
  return problems.isEmpty ? 0 : 1
}

/// What has grown: memory by more than a tenth, or the number of descriptors. Tables and buffers have their size after
/// a fifth of the time.
func growth(_ samples: [Sample]) -> (first: Sample?, last: Sample?, problems: [String]) {
  let settled = Array(samples.dropFirst(samples.count / 5))
  guard let first = settled.first, let last = settled.last else { return (nil, nil, []) }
  var problems: [String] = []
  if last.kilobytes > first.kilobytes * 11 / 10 + 8_192 {
    problems.append("memory grew from \(first.kilobytes) to \(last.kilobytes) KB")
  }
  if settled.contains(where: { $0.descriptors != first.descriptors }) { problems.append("the descriptors changed") }
  return (first, last, problems)
}

let minutes = option("train", 0)
if minutes > 0 { exit(soakTrain(minutes)) }

let goal = option("pdus", 10_000_000)
let limit = option("seconds", 1_000_000)
let start = Date()
var soak = Soak(
  centrals: option("links", 50), seed: UInt64(option("seed", 1)),
  hasPlantedFault: CommandLine.arguments.contains("--planted"))
var samples: [Sample] = []
var nextSample = 0
while soak.world.packets < goal, soak.violations.isEmpty, Date().timeIntervalSince(start) < Double(limit) {
  for _ in 0..<20 { soak.step() }
  guard soak.world.packets >= nextSample else { continue }
  nextSample += max(5_000, goal / 200)
  samples.append(Sample(packets: soak.world.packets, links: soak.world.linkCount(of: 0)))
}
if soak.violations.isEmpty { soak.finish() }
samples.append(Sample(packets: soak.world.packets, links: soak.world.linkCount(of: 0)))

if let index = CommandLine.arguments.firstIndex(of: "--samples"), index + 1 < CommandLine.arguments.count {
  let lines = samples.map { "\($0.packets),\($0.kilobytes),\($0.descriptors),\($0.links)" }
  let table = (["PDUs,kilobytes,descriptors,links"] + lines).joined(separator: "\n") + "\n"
  try table.write(toFile: CommandLine.arguments[index + 1], atomically: true, encoding: .utf8)
}

let (first, last, grown) = growth(samples)
let problems = soak.violations + grown
for problem in problems { print("soak: \(problem)") }
let seconds = Int(Date().timeIntervalSince(start))
let results: [String] = [
  "\(soak.world.packets) PDUs in \(seconds) s", "\(soak.writes) acknowledged writes",
  "\(soak.notifications) notifications", "\(soak.pairings) pairings", "\(soak.endedLinks) ended links",
  "\(soak.incidents) incidents", "\(first?.kilobytes ?? 0) to \(last?.kilobytes ?? 0) KB",
  "\(last?.descriptors ?? 0) descriptors",
  problems.isEmpty ? "no promise broken" : "\(problems.count) problems",
]
print("soak: \(results.joined(separator: ", "))")
exit(problems.isEmpty ? 0 : 1)
