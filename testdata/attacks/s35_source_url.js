// A sourceURL that names a file of the machine: nobody reads that file to show a line of it. Error.
null.property;
//# sourceURL=/etc/passwd
