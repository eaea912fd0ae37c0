package simulation

import "time"

// Shrink looks for a smaller plan under which a simulation still finds something of the same kind: fewer kinds of faults, fewer
// schedules, fewer requests, a shorter time. It calls run at most tries times, and returns the smallest report.
func Shrink(report Report, tries int, run func(seed uint64, plan Plan) Report) Report {
	for again := true; again; {
		again = false
		for _, simpler := range simplifications {
			plan := report.Plan
			simpler(&plan)
			if plan == report.Plan {
				continue
			}
			if tries == 0 {
				return report
			}
			tries--
			if smaller := run(report.Seed, plan); smaller.sameKind(&report) {
				report, again = smaller, true
			}
		}
	}
	return report
}

// sameKind reports whether both have found something of one kind.
func (r *Report) sameKind(other *Report) bool {
	for _, a := range r.Findings {
		for _, b := range other.Findings {
			if a.Kind == b.Kind {
				return true
			}
		}
	}
	return false
}

// simplifications make a plan a little simpler. Those that help a reader of the trace most come first.
var simplifications = []func(*Plan){
	func(p *Plan) { p.Skew = 0 },
	func(p *Plan) { p.Unruly = 0 },
	func(p *Plan) { p.Together = false },
	func(p *Plan) { p.Twin = false },
	func(p *Plan) { p.DeletedConsumers = 0 },
	func(p *Plan) { p.Standstills = 0 },
	func(p *Plan) { p.LimitChanges = 0 },
	func(p *Plan) { p.IdleTime = 0 },
	func(p *Plan) { p.Volume = "" },
	func(p *Plan) { p.Calendars = 0 },
	func(p *Plan) { p.Bulks = 0 },
	func(p *Plan) { p.Bulks = min(p.Bulks, 1) },
	func(p *Plan) { p.Calendars /= 2 },
	func(p *Plan) { p.Recess, p.Absent = 0, "" },
	func(p *Plan) { p.Scrubbers = false },
	func(p *Plan) { p.Losses = max(p.Losses-1, 0) },
	func(p *Plan) { p.Checks = p.Checks && p.Losses > 0 },
	func(p *Plan) {
		if p.Executions == 0 {
			p.Models = each
		}
	},
	func(p *Plan) { p.Slow = false },
	func(p *Plan) { p.HeldUp = 0 },
	func(p *Plan) { p.Redelivered = 0 },
	func(p *Plan) { p.Often = false },
	func(p *Plan) { p.Stale = 0 },
	func(p *Plan) { p.Duplicate = 0 },
	func(p *Plan) { p.Crash = 0 },
	func(p *Plan) { p.LostRequest = 0 },
	func(p *Plan) { p.LostReply = 0 },
	func(p *Plan) { p.PowerCuts = 0 },
	func(p *Plan) { p.Full = 0 },
	func(p *Plan) { p.Outages = 0 },
	func(p *Plan) { p.Elections = 0 },
	func(p *Plan) { p.Suspensions = 0 },
	func(p *Plan) { p.Restarts = 0 },
	func(p *Plan) { p.Suspensions = min(p.Suspensions, 1) },
	func(p *Plan) { p.Restarts = min(p.Restarts, 1) },
	func(p *Plan) { p.Requests /= 2 },
	func(p *Plan) { p.Requests = max(p.Requests-1, 0) },
	func(p *Plan) { p.Schedules, p.Executions = min(p.Schedules, 1), min(p.Executions, 1) },
	func(p *Plan) { p.Schedules = max(p.Schedules-1, min(p.Schedules, 1)) },
	func(p *Plan) { p.Executions = max(p.Executions-1, min(p.Executions, 1)) },
	func(p *Plan) { p.Duration = max(p.Duration/2, shortest) },
	func(p *Plan) { p.Duration = max(p.Duration-5*time.Second, shortest) },
}

// shortest is the shortest time in which something may go wrong: callers begin within 5 s.
const shortest = 8 * time.Second
