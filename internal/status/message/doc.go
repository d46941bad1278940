// Package message composes an Echo's messages: first what is wrong, then what to do, and then the numbers. The words of other components
// are in quotation marks, and are cut if a message would be too long.
package message
