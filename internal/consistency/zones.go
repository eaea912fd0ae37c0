package consistency

// maxZonePasses is the number of passes after which a sweep ends even if it still finds schedules whose times were computed with
// other rules. Their fault must be something else.
const maxZonePasses = 10

// zoneSweep records how many schedules have been moved to the rules of some time zone data. It is in the cluster bucket. A
// process that writes it shows that it continues. It is JSON.
type zoneSweep struct {
	// Rules is the digest of the data, Data its version.
	Rules string `json:"rules"`
	Data  string `json:"data"`
	// By names the process that sweeps. Shard and Sequence are how far it has come: to a sequence of the records of a shard.
	By       string `json:"by"`
	Shard    int    `json:"shard"`
	Sequence uint64 `json:"sequence,omitempty"`
	// Passes counts the complete passes, Found the schedules with other rules in the current pass.
	Passes int  `json:"passes,omitempty"`
	Found  int  `json:"found,omitempty"`
	Done   bool `json:"done,omitempty"`
}

// turn is what a process must do about a sweep.
type turn int

const (
	// turnOver: there is nothing to do, or a process that started later has other data and sweeps for that.
	turnOver turn = iota
	// turnClaim: this process must begin the sweep, or continue one that another process has left.
	turnClaim
	// turnWork: this process sweeps.
	turnWork
	// turnWait: another process sweeps, with the same rules.
	turnWait
)

// turnOf returns whose turn it is. isNew is true until a process has seen its own rules in the record once: a process that starts
// sweeps if its rules differ from the rules of the last sweep. silent is set if the process that sweeps has not written for a
// long time.
func (z *zoneSweep) turnOf(self, rules string, isNew, silent bool) turn {
	switch {
	case z.Rules != rules && isNew:
		return turnClaim
	case z.Rules != rules || z.Done:
		return turnOver
	case z.By == self:
		return turnWork
	case silent:
		return turnClaim
	}
	return turnWait
}

// claimed returns the record with which a process begins a sweep, or takes over a sweep that another process left.
func (z *zoneSweep) claimed(self, rules, data string) zoneSweep {
	next := zoneSweep{Rules: rules, Data: data, By: self}
	if z.Rules == rules {
		next = *z
		next.By = self
	}
	return next
}

// passed returns the record at the end of a pass. A sweep is done when a pass has found nothing and no generator has other rules.
// Such a generator would write times by its own rules again.
func (z *zoneSweep) passed(mixed bool) zoneSweep {
	next := *z
	next.Passes, next.Shard, next.Sequence, next.Found = z.Passes+1, 0, 0, 0
	next.Done = !mixed && (z.Found == 0 || next.Passes >= maxZonePasses)
	return next
}
