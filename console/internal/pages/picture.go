package pages

import (
	"fmt"
	"time"

	"go.temporal.io/api/history/v1"

	"github.com/carillon-scheduler/carillon/console/internal/readable"
)

// The picture of a timeline, in its own units: where the bars begin and end, the height of a line, and of the axis above them. How many lines it has, and how
// many bars, the least width of one, and how many bytes a label has.
const (
	timelineLeft  = 260
	timelineRight = 970
	lineHeight    = 24
	axisHeight    = 28
	linesShown    = 40
	barsShown     = 100
	leastWidth    = 3
	labelShown    = 40
)

// picture is a timeline of a part of a history.
type picture struct {
	Height int
	Lines  []pictureLine
	Ticks  []pictureTick
	// Rest is how many lines are left out. From and To are when it begins and ends.
	Rest     int
	From, To moment
	Took     string
}

// pictureLine is a line of the picture.
type pictureLine struct {
	Label         string
	Text, Ground  int
	IsEven        bool
	Bars          []pictureBar
	Words, Length string
}

// pictureBar is a rectangle of the picture. From X to Began it waits.
type pictureBar struct {
	X, Y, Width, Height int
	Waited              int
	Kind, Title         string
	IsMoment            bool
}

// pictureTick is a place on the axis.
type pictureTick struct {
	X    int
	Text string
}

// pictureOf draws events, in the order of their IDs. What has not ended goes on to now, if these are the newest events of an execution that is open.
func pictureOf(events []*history.HistoryEvent, now time.Time, goesOn bool) *picture {
	if len(events) == 0 {
		return nil
	}
	from, to := events[0].GetEventTime().AsTime(), events[len(events)-1].GetEventTime().AsTime()
	if goesOn && now.After(to) {
		to = now
	}
	scale := scale{from, max(to.Sub(from), time.Millisecond)}
	drawn := &picture{From: momentOf(from, now, time.UTC), To: momentOf(to, now, time.UTC), Took: lasted(to.Sub(from))}
	lanes, bars := readable.Lanes(events), 0
	for i := range lanes {
		if i == linesShown || bars > barsShown {
			drawn.Rest = len(lanes) - i
			break
		}
		drawn.Lines = append(drawn.Lines, scale.line(&lanes[i], i, barsShown-bars))
		bars += len(lanes[i].Bars)
	}
	drawn.Height = axisHeight + lineHeight*len(drawn.Lines) + 4
	for i := range 5 {
		at := scale.whole * time.Duration(i) / 4
		drawn.Ticks = append(drawn.Ticks, pictureTick{scale.x(from.Add(at)), "+" + lasted(at)})
	}
	return drawn
}

// scale says where a time is in the picture.
type scale struct {
	from  time.Time
	whole time.Duration
}

func (s scale) x(at time.Time) int {
	part := float64(at.Sub(s.from)) / float64(s.whole)
	return timelineLeft + int(part*float64(timelineRight-timelineLeft))
}

// line draws a lane, with at most so many bars.
func (s scale) line(lane *readable.Lane, i, most int) pictureLine {
	ground := axisHeight + i*lineHeight
	drawn := pictureLine{Label: cut(lane.Label, labelShown), Ground: ground, Text: ground + 17, IsEven: i%2 == 0}
	for j := range lane.Bars[:min(len(lane.Bars), most)] {
		drawn.Bars = append(drawn.Bars, s.bar(&lane.Bars[j], ground))
	}
	last := &lane.Bars[len(lane.Bars)-1]
	drawn.Words = cut(wordsOf(last), labelShown)
	if n := len(lane.Bars); n > 1 {
		drawn.Words = fmt.Sprintf("%d, the last one %s", n, drawn.Words)
	}
	if !last.Start.IsZero() && !last.End.IsZero() {
		drawn.Length = lasted(last.End.Sub(last.Start))
	}
	return drawn
}

func wordsOf(b *readable.Bar) string {
	if b.Attempt > 1 {
		return fmt.Sprintf("%s in attempt %d", b.Word, b.Attempt)
	}
	return b.Word
}

func (s scale) bar(b *readable.Bar, ground int) pictureBar {
	from, to := timelineLeft, timelineRight
	if !b.Start.IsZero() {
		from = s.x(b.Start)
	}
	if !b.End.IsZero() {
		to = s.x(b.End)
	}
	drawn := pictureBar{X: from, Y: ground + 5, Width: max(to-from, leastWidth), Height: lineHeight - 10, Kind: b.Kind, Title: cut(wordsOf(b), labelShown), IsMoment: b.IsMoment}
	if b.IsMoment {
		drawn.Width = leastWidth
		return drawn
	}
	if !b.Began.IsZero() && !b.Start.IsZero() {
		drawn.Waited = min(s.x(b.Began)-from, drawn.Width)
	}
	if !b.Start.IsZero() && !b.End.IsZero() {
		drawn.Title += ", " + lasted(b.End.Sub(b.Start))
	}
	return drawn
}
