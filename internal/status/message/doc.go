// Package message composes the messages of an Echo: first what is wrong, then what to do, and then the numbers. The words of other
// components stand in quotes and are cut where a message would be too long.
package message
