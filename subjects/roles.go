package subjects

import "slices"

// The pools that consume task streams. Each is also the name of its consumers.
const (
	PoolGenerator  = "generator"
	PoolInvoker    = "invoker"
	PoolBackfiller = "backfiller"
	PoolHistory    = "history"
)

// RoleArchival is the name of the role that archives. It consumes no tasks.
const RoleArchival = "archival"

// Role is what a task is for. It is a token of the task's subject.
type Role string

// The roles of tasks.
const (
	RoleGenerate Role = "generate"
	RoleInvoke   Role = "invoke"
	// RoleTimeout completes a run that no worker has reported on in time.
	RoleTimeout Role = "timeout"
	// RoleCallback is the completion that a worker reports. Its subjects have a form and a stream of their own.
	RoleCallback Role = "callback"
	RoleBackfill Role = "backfill"
	// RoleExecution looks what is due in a workflow execution.
	RoleExecution Role = "execution"
)

// roles says which pool takes the tasks of a role, in the order of the work. Consumers, dead letters, health checks, metrics and
// spans follow this table. A new role is one more row. Tests fail wherever it needs more and does not have it.
var roles = []struct {
	role Role
	pool string
}{
	{RoleGenerate, PoolGenerator},
	{RoleInvoke, PoolInvoker},
	{RoleTimeout, PoolInvoker},
	{RoleCallback, PoolInvoker},
	{RoleBackfill, PoolBackfiller},
	{RoleExecution, PoolHistory},
}

// Roles returns all roles of tasks, in the order of the work.
func Roles() []Role {
	all := make([]Role, len(roles))
	for i, row := range roles {
		all[i] = row.role
	}
	return all
}

// Pools returns all pools, in the order of the work.
func Pools() []string {
	var all []string
	for _, row := range roles {
		if !slices.Contains(all, row.pool) {
			all = append(all, row.pool)
		}
	}
	return all
}

// Pool returns the pool that takes the tasks of a role. It is empty for a role that this release does not know.
func (r Role) Pool() string {
	for _, row := range roles {
		if row.role == r {
			return row.pool
		}
	}
	return ""
}

// tasksOf matches the tasks of a role in a shard.
func (n Names) tasksOf(shard string, role Role) string {
	if role == RoleCallback {
		return n.prefix + ".callback." + shard + ".>"
	}
	return n.prefix + ".task." + shard + "." + string(role) + ".>"
}

// filtersOf match all tasks of a pool in a shard.
func (n Names) filtersOf(shard, pool string) []string {
	var filters []string
	for _, row := range roles {
		if row.pool == pool {
			filters = append(filters, n.tasksOf(shard, row.role))
		}
	}
	return filters
}
