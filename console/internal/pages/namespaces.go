package pages

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// namespacesShown is how many namespaces one page of the list has, and countedAtOnce of how many the usage is found out at once.
	namespacesShown, countedAtOnce = 50, 4
)

// namespaceList is the page with the namespaces of the installation.
type namespaceList struct {
	Rows    []namespaceRow
	Next    string
	IsFirst bool
}

// namespaceRow is a namespace in the list. Schedules and Runs are "?" if they are not known.
type namespaceRow struct {
	Name, Address, About, Description, Schedules, Runs string
	State                                              state
	IsHere                                             bool
}

// namespaceOne is the page of a namespace.
type namespaceOne struct {
	Name, Address, Description, CreatedBy, UpdatedBy string
	State                                            state
	Created, Updated                                 moment
	Freeze                                           *banner
	Deleting                                         bool
	Schedules                                        int
	Limits                                           []limitRow
}

// limitRow is a limit, and how much of it is used.
type limitRow struct{ Name, Limit, Usage string }

func (p *Pages) addNamespaces() {
	p.page("GET "+Base+"{namespace}/namespaces", p.namespaces)
	p.page("GET "+Base+"{namespace}/namespace", p.namespace)
	p.page("GET "+Base+"{namespace}/new-namespace", p.newNamespace)
	p.page("POST "+Base+"{namespace}/new-namespace", p.createNamespace)
	p.page("GET "+Base+"{namespace}/namespace/edit", p.editNamespace)
	p.page("POST "+Base+"{namespace}/namespace/edit", p.saveNamespace)
	p.page("POST "+Base+"{namespace}/namespace/freeze", p.freeze)
	p.page("POST "+Base+"{namespace}/namespace/unfreeze", p.unfreeze)
	p.page("POST "+Base+"{namespace}/namespace/delete", p.removeNamespace)
}

// namespaces lists the namespaces, with what each has.
func (p *Pages) namespaces(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	after := r.URL.Query().Get("after")
	found, err := asks.ListNamespaces(r.Context(), schedule.ListNamespacesRequest{PageSize: namespacesShown, PageToken: after})
	if err != nil {
		return nil, err
	}
	list := &namespaceList{IsFirst: after == "", Rows: make([]namespaceRow, len(found.Namespaces))}
	if found.NextPageToken != "" {
		list.Next = queryOf("after", found.NextPageToken)
	}
	group, ctx := errgroup.WithContext(r.Context())
	group.SetLimit(countedAtOnce)
	for i := range found.Namespaces {
		row, d := &list.Rows[i], &found.Namespaces[i]
		*row = namespaceRow{
			Name: d.Name, Address: address(d.Name, "now"), About: address(d.Name, "namespace"), Description: d.Description, Schedules: "?", Runs: "?",
			State: p.stateOfNamespace(d), IsHere: d.Name == asks.Namespace(),
		}
		group.Go(func() error {
			row.count(ctx, p, asks)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return &answer{view: "namespaces", title: "Namespaces", data: list}, nil
}

// count adds what a namespace has. A user who may not see that sees the rest.
func (n *namespaceRow) count(ctx context.Context, p *Pages, asks *speaker.Speaker) {
	there, err := asks.In(n.Name)
	if err != nil {
		return
	}
	if d, err := p.space(ctx, there); err == nil && d.Info.Usage != nil {
		n.Schedules, n.Runs = strconv.Itoa(d.Info.Usage.Schedules), strconv.Itoa(d.Info.Usage.PendingRuns)
	}
}

func (p *Pages) stateOfNamespace(d *schedule.NamespaceDescription) state {
	switch {
	case d.Deleting:
		return state{"being deleted", "bad"}
	case d.Freeze.Covers(p.config.Now()):
		return state{"frozen", "busy"}
	}
	return state{"active", "good"}
}

// namespace shows one namespace.
func (p *Pages) namespace(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	d, err := asks.DescribeNamespace(r.Context(), asks.Namespace())
	if err != nil {
		return nil, err
	}
	now := p.config.Now()
	one := &namespaceOne{
		Name: d.Name, Address: address(d.Name, "namespace"), Description: d.Description, State: p.stateOfNamespace(&d), Deleting: d.Deleting,
		Created: momentOf(d.Info.CreateTime, now, time.UTC), CreatedBy: d.Info.CreatedBy, Updated: momentOf(d.Info.UpdateTime, now, time.UTC), UpdatedBy: d.Info.UpdatedBy,
		Freeze: bannerOf(&d, now), Limits: limitsOf(&d.Limits, d.Info.Usage),
	}
	if d.Info.Usage != nil {
		one.Schedules = d.Info.Usage.Schedules
	}
	return &answer{view: "namespace", title: "Namespace " + d.Name, data: one}, nil
}

// limitsOf returns the limits of a namespace in words, with what is used.
func limitsOf(l *schedule.NamespaceLimits, usage *schedule.NamespaceUsage) []limitRow {
	rate := func(n float64, without string) string {
		if n == 0 {
			return without
		}
		return strconv.FormatFloat(n, 'f', -1, 64) + " a second"
	}
	count := func(n int, without string) string {
		if n == 0 {
			return without
		}
		return strconv.Itoa(n)
	}
	requests := rate(l.RequestsPerSecond, "none")
	if l.RequestBurst > 0 {
		requests += fmt.Sprintf(", %d at once", l.RequestBurst)
	}
	const each = ", at each gateway"
	rows := []limitRow{
		{"Schedules", count(l.MaxSchedules, strconv.Itoa(schedule.DefaultMaxSchedules)), ""}, {"Pending runs", count(l.MaxPendingRuns, "none"), ""},
		{"Requests", requests, ""}, {"Actions", rate(l.ActionsPerSecond, "none"), ""}, {"Bytes of a schedule", count(l.MaxScheduleBytes, "those of a message"), ""},
		{"Requests of Temporal's clients", rate(cmp.Or(l.WorkflowRequestsPerSecond, schedule.DefaultWorkflowRequestsPerSecond), "") + each, ""},
		{"Lists of Temporal's clients", rate(cmp.Or(l.WorkflowListsPerSecond, schedule.DefaultWorkflowListsPerSecond), "") + each, ""},
		{"Polls of workers", count(cmp.Or(l.MaxWorkflowPolls, schedule.DefaultMaxWorkflowPolls), "") + each, ""},
		{"Events are kept", rounded(cmp.Or(l.EventRetention.Std(), schedule.MaxEventRetention)), ""},
		{"Ended executions are kept", rounded(l.KeepsRuns()), ""}, {"Ended executions are archived", cmp.Or(l.Archive, "no"), ""},
	}
	if usage != nil {
		rows[0].Usage, rows[1].Usage = strconv.Itoa(usage.Schedules), strconv.Itoa(usage.PendingRuns)
		rows[2].Usage = strconv.FormatFloat(usage.RequestsPerSecond, 'f', 1, 64) + " a second"
		if usage.RequestsRefused > 0 {
			rows[2].Usage += fmt.Sprintf(", %d refused since the start of %s", usage.RequestsRefused, plural(usage.Frontends, "frontend"))
		}
	}
	return rows
}

// freeze freezes a namespace, or changes the reason and the end.
func (p *Pages) freeze(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	request := schedule.FreezeNamespaceRequest{Reason: strings.TrimSpace(r.PostFormValue("reason"))}
	if text := strings.TrimSpace(r.PostFormValue("for")); text != "" {
		var err error
		if request.For, err = schedule.ParseDuration(text); err != nil {
			return nil, schedule.Invalid("for", "%v", err)
		}
	}
	if _, err := asks.FreezeNamespace(r.Context(), asks.Namespace(), request); err != nil {
		return nil, err
	}
	return &answer{to: address(asks.Namespace(), "namespace") + "?said=frozen"}, nil
}

func (p *Pages) unfreeze(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	if _, err := asks.UnfreezeNamespace(r.Context(), asks.Namespace()); err != nil {
		return nil, err
	}
	return &answer{to: address(asks.Namespace(), "namespace") + "?said=unfrozen"}, nil
}

// removeNamespace deletes a namespace, if somebody has written its name.
func (p *Pages) removeNamespace(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	name := asks.Namespace()
	if written := r.PostFormValue("confirm"); written != name {
		return nil, schedule.Invalid("confirm", "is %q: write the name of the namespace, %s, to delete it", written, name)
	}
	request := schedule.DeleteNamespaceRequest{Force: r.PostFormValue("force") != "", Runs: schedule.RunsPolicy(r.PostFormValue("runs"))}
	if _, err := asks.DeleteNamespace(r.Context(), name, request); err != nil {
		return nil, err
	}
	return &answer{to: address(p.config.Namespace, "namespaces") + "?said=namespace-deleted"}, nil
}
