// No threads. Value.
return [typeof Worker, typeof SharedWorker, typeof MessageChannel].join();
