// Package query is the language in which schedules, workflow executions and workers are searched for:
//
//	paused = true and taskQueue = 'billing' and nextTime < '2027-01-01' order by nextTime
//	WorkflowType = 'Report' AND ExecutionStatus = 'Running' AND CustomerId IN ('a', 'b')
//
// It is one language with three sets of fields. [Parse] makes a [Query] about schedules of a text, and [ParseExecutions] and [ParseWorkers] one
// about executions or workers, as Temporal's clients write it. Every field and the type of every value is checked. [Query.String] makes a text of a query;
// [Query.Matches] decides about one schedule or execution. The package is pure: what stores them and answers queries fast is for others, and
// has to agree with Matches.
//
// The package may import schedule, internal/attributes and internal/suggest.
package query
