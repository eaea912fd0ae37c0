// Package request has what every request to the frontend says about itself, whatever it asks for: who asks and when ([Origin]), from
// which version of a thing ([CheckToken]), and how often it tries to write ([MaxWrites]). It also turns errors into what a caller may see ([ForCaller]).
//
// The package and its neighbours below frontend are for the frontend alone. It may import schedule, kv and internal/telemetry. It must never
// read or write anything, nor know a verb.
package request
