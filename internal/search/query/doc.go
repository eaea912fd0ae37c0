// Package query is the language in which schedules are searched for:
//
//	paused = true and taskQueue = 'billing' and nextTime < '2027-01-01' order by nextTime
//
// [Parse] makes a [Query] of a text, with every field and the type of every value checked; [Query.String] makes a text of
// a query; [Query.Matches] decides about one schedule. The package is pure: what stores schedules and answers queries
// fast is for others, and has to agree with Matches.
//
// The package may import schedule, and nothing else of Carillon.
package query
