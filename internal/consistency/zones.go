package consistency

// maxZonePasses is after how many passes a sweep ends although it still finds schedules whose times are those of other rules: what is
// wrong with them is something else.
const maxZonePasses = 10

// zoneSweep is the record of how far the schedules have been brought to the rules of some time zone data. It is in the cluster
// bucket, where whoever writes it says that it goes on. It is JSON.
type zoneSweep struct {
	// Rules is the digest of the data, Data its version.
	Rules string `json:"rules"`
	Data  string `json:"data"`
	// By names the process that sweeps. It has come to a sequence of the records of a shard.
	By       string `json:"by"`
	Shard    int    `json:"shard"`
	Sequence uint64 `json:"sequence,omitempty"`
	// Passes counts the complete passes, Found the schedules with other rules in the one in progress.
	Passes int  `json:"passes,omitempty"`
	Found  int  `json:"found,omitempty"`
	Done   bool `json:"done,omitempty"`
}

// turn is what a process does about a sweep.
type turn int

const (
	// turnOver: there is nothing to do, or a process that started later has other data, and sweeps for that.
	turnOver turn = iota
	// turnClaim: it is this process's to begin with, or to go on with what another one has left.
	turnClaim
	// turnWork: it is this process that sweeps.
	turnWork
	// turnWait: another process sweeps, by the same rules.
	turnWait
)

// turnOf says whose turn it is. New is true until a process has once seen its own rules in the record: a process that starts sweeps if its
// rules are others than those of the last sweep. Silent says that nothing has been heard of the process that sweeps for long.
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

// claimed returns the record with which a process begins a sweep, or takes one over where the other process has stopped.
func (z *zoneSweep) claimed(self, rules, data string) zoneSweep {
	next := zoneSweep{Rules: rules, Data: data, By: self}
	if z.Rules == rules {
		next = *z
		next.By = self
	}
	return next
}

// passed returns the record at the end of a pass. A sweep is done when a pass has found nothing, and no generator has other rules:
// such a one would bring back the times by its own.
func (z *zoneSweep) passed(mixed bool) zoneSweep {
	next := *z
	next.Passes, next.Shard, next.Sequence, next.Found = z.Passes+1, 0, 0, 0
	next.Done = !mixed && (z.Found == 0 || next.Passes >= maxZonePasses)
	return next
}
