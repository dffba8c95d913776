// SPDX-License-Identifier: Apache-2.0
// Apache Kafka's own client of any version; run.py says what its arguments are.
import java.time.Duration;
import java.util.*;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;

public class Client {
    static Properties properties(String... pairs) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", System.getenv("BROKERS"));
        for (int i = 0; i < pairs.length; i += 2) properties.put(pairs[i], pairs[i + 1]);
        return properties;
    }

    /// poll(long) is gone in 4.0, and what came in its place is not in 1.1.
    @SuppressWarnings("unchecked")
    static ConsumerRecords<String, String> poll(KafkaConsumer<String, String> consumer) throws Exception {
        try {
            var poll = KafkaConsumer.class.getMethod("poll", Duration.class);
            return (ConsumerRecords<String, String>) poll.invoke(consumer, Duration.ofMillis(100));
        } catch (NoSuchMethodException e) {
            return (ConsumerRecords<String, String>) KafkaConsumer.class.getMethod("poll", long.class).invoke(consumer, 100L);
        }
    }

    static void assign(KafkaConsumer<String, String> consumer, String topic, String start) {
        List<TopicPartition> partitions = new ArrayList<>();
        for (int i = 0; i < 3; i++) partitions.add(new TopicPartition(topic, i));
        consumer.assign(partitions);
        for (TopicPartition partition : partitions) consumer.seek(partition, 0);
        for (String pair : start.split(",")) {
            String[] parts = pair.split(":");
            if (parts.length == 2) consumer.seek(partitions.get(Integer.parseInt(parts[0])), Long.parseLong(parts[1]));
        }
    }

    static void consume(String mode, String topic, String start, int limit, long extraMs) throws Exception {
        boolean inGroup = mode.equals("group");
        Properties properties = properties("enable.auto.commit", "false", "auto.offset.reset", "earliest");
        if (inGroup) properties.put("group.id", start);
        String protocol = System.getenv("GROUP_PROTOCOL");
        if (inGroup && protocol != null) properties.put("group.protocol", protocol);
        var consumer = new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
        if (inGroup) consumer.subscribe(Arrays.asList(topic));
        else assign(consumer, topic, start);
        Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
        StringBuilder out = new StringBuilder();
        long end = System.currentTimeMillis() + 1000L * Integer.parseInt(System.getenv("LIMIT_S"));
        long done = 0;
        int count = 0;
        while (System.currentTimeMillis() < (done != 0 ? done : end)) {
            for (ConsumerRecord<String, String> record : poll(consumer)) {
                if (done != 0 && extraMs == 0) break;
                boolean isPlaceholder = record.value() == null;
                out.append(record.partition()).append(' ').append(record.offset()).append(' ');
                out.append(isPlaceholder ? "null" : record.key()).append('\n');
                next.put(new TopicPartition(topic, record.partition()), new OffsetAndMetadata(record.offset() + 1));
                if (!isPlaceholder && ++count == limit) done = System.currentTimeMillis() + extraMs;
            }
        }
        if (inGroup && !next.isEmpty()) consumer.commitSync(next);
        consumer.close();
        System.out.print(out);
    }

    static void produce(String topic, String run, int count, String codec, String acks, boolean isIdempotent) throws Exception {
        Properties properties = properties("linger.ms", "5", "acks", acks, "compression.type", codec, "max.block.ms", "15000",
            "enable.idempotence", String.valueOf(isIdempotent), "request.timeout.ms", "15000", "delivery.timeout.ms", "40000");
        try (var producer = new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int i = 0; i < count; i++) sent.add(producer.send(new ProducerRecord<>(topic, "k" + i % 50, run + "-" + i)));
            producer.flush();
            for (var one : sent) one.get();
        }
        System.out.println("ok");
    }

    public static void main(String[] words) {
        try {
            if (words[0].equals("consume")) consume(words[1], words[2], words[3], Integer.parseInt(words[4]), Long.parseLong(words[5]));
            else produce(words[1], words[2], Integer.parseInt(words[3]), words[4], words[5], words[6].equals("1"));
        } catch (Throwable e) {
            System.out.println(("error " + e).replace('\n', ' '));
        }
        System.exit(0);
    }
}
