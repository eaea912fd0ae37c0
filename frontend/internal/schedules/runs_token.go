package schedules

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/schedule"
)

// runsToken begins the token of a page of runs, so that it is not mistaken for a token of another list.
const runsToken = "run:"

// runsPlace is where a page of runs begins or ends.
type runsPlace struct {
	// before is the sequence of the event history before which the page begins; 0 means at the end of the history.
	before uint64
	// time is the same place among the runs of the record: before it. Of the runs that began at that very time, those whose request IDs come
	// after this one are before it too; an empty one means none.
	time  time.Time
	after string
	// searched is up to where the end of the run that starts just before was looked for in vain; 0 means nowhere. isGone says that its schedule
	// was deleted up to there.
	searched uint64
	isGone   bool
}

// isBefore reports whether a run of the record comes later in the list, where the newest comes first.
func (p *runsPlace) isBefore(run *schedule.Run) bool {
	order := run.StartTime.Compare(p.time)
	return p.before == 0 || order < 0 || order == 0 && p.after != "" && run.RequestID > p.after
}

// within returns the place, but among the runs of the record not nearer than where the page began. It would be nearer if clocks differ.
func (p runsPlace) within(from runsPlace) runsPlace {
	nearer := p.time.After(from.time) || p.time.Equal(from.time) && (from.after == "" || p.after != "" && p.after < from.after)
	if from.before > 0 && nearer {
		p.time, p.after = from.time, from.after
	}
	return p
}

func encodeRunsToken(p runsPlace) string {
	gone := 0
	if p.isGone {
		gone = 1
	}
	return listing.EncodePageToken(fmt.Sprintf("%s%d:%d:%d:%d:%s", runsToken, p.before, p.time.UnixNano(), p.searched, gone, p.after))
}

// decodeRunsToken returns the place where a page begins; the zero place without a token.
func decodeRunsToken(token string) (p runsPlace, err error) {
	text, err := listing.DecodePageToken(token)
	if err != nil || text == "" {
		return runsPlace{}, err
	}
	var nanos, gone int64
	_, err = fmt.Sscanf(text, runsToken+"%d:%d:%d:%d:", &p.before, &nanos, &p.searched, &gone)
	p.time, p.isGone = time.Unix(0, nanos), gone == 1
	if parts := strings.SplitN(text, ":", 6); len(parts) == 6 {
		p.after = parts[5]
	}
	if err != nil || p.before == 0 || encodeRunsToken(p) != token {
		return runsPlace{}, schedule.Invalid("pageToken", "is not a token of a list of runs: "+
			"repeat nextPageToken as it was, or leave it out to begin with the first page")
	}
	return p, nil
}
