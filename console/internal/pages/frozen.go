package pages

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// banner is above every page of a namespace that does not act as usual.
type banner struct {
	// Deleting says that the namespace is being deleted. Otherwise it is frozen, since From, by By, because of Reason.
	Deleting    bool
	Reason, By  string
	From, Until moment
}

// bannerTime bounds how long a page waits to find out whether its namespace is frozen.
const bannerTime = time.Second

// banner returns what is to be said about a namespace on all its pages. If nobody asks or nobody answers, nothing is said: the page has more to say about
// that.
func (p *Pages) banner(ctx context.Context, asks *speaker.Speaker) *banner {
	if asks == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, bannerTime)
	defer cancel()
	d, err := p.space(ctx, asks)
	if err != nil {
		return nil
	}
	return bannerOf(&d, p.config.Now())
}

func bannerOf(d *schedule.NamespaceDescription, now time.Time) *banner {
	switch {
	case d.Deleting:
		return &banner{Deleting: true}
	case d.Freeze.Covers(now):
		return &banner{
			Reason: d.Freeze.Reason, By: d.Freeze.By, From: momentOf(d.Freeze.From, now, time.UTC), Until: momentOf(d.Freeze.Until, now, time.UTC),
		}
	}
	return nil
}

// space returns the namespace of a speaker, as it was a moment ago.
func (p *Pages) space(ctx context.Context, asks *speaker.Speaker) (schedule.NamespaceDescription, error) {
	return ask(ctx, p.spaces, asks, func(ctx context.Context) (schedule.NamespaceDescription, error) {
		return asks.DescribeNamespace(ctx, asks.Namespace())
	})
}
