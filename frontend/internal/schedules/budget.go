package schedules

import "github.com/carillon-scheduler/carillon/internal/events"

const (
	// maxScanned and maxScannedBytes bound what one request reads of the event history, whatever it looks for. What a request keeps in memory
	// is a part of that.
	maxScanned      = 20_000
	maxScannedBytes = 32 << 20
	// lookCost is how many events a request could read in the time that it takes to begin a read, or to read a record.
	lookCost = 20
)

// budget is what one request may still read of the event history.
type budget struct{ events, bytes int }

// spend notes what a page has cost.
func (b *budget) spend(page *events.Page) {
	b.events, b.bytes = b.events-page.Read-lookCost, b.bytes-page.Bytes
}

// forward returns how many events to ask [events.Reader.Page] for, at most most; 0 if there is too little left.
func (b *budget) forward(most int) int { return b.size(most, b.events-events.Beside-lookCost) }

// backward returns how many events to ask [events.Reader.Before] for, at most most; 0 if there is too little left.
func (b *budget) backward(most int) int { return b.size(most, (b.events-events.Beside-lookCost)/4) }

// look takes the cost of a look at a record; false if there is too little left.
func (b *budget) look() bool {
	if b.events < lookCost {
		return false
	}
	b.events -= lookCost
	return true
}

func (b *budget) size(most, least int) int {
	if b.bytes <= 0 {
		return 0
	}
	return max(0, min(most, least))
}
